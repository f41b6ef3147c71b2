// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one mapping from nvrtcResult to Status.

#include "support/status.h"

#include <nvrtc.h>

#include <string>

namespace kiln {

Code nvrtc_code(nvrtcResult result);

Status nvrtc_failure(nvrtcResult result, std::string message, std::string detail = {});

}  // namespace kiln
