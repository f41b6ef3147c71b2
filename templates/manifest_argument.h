// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads the arguments of a manifest.

#include "templates/json.h"
#include "templates/manifest.h"

namespace kiln {

Status read_kernel_argument(JsonObject& object, KernelArgument& argument);

}  // namespace kiln
