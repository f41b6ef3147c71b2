// SPDX-License-Identifier: Apache-2.0
#pragma once

// The files that the build compiles into the library (see CMakeLists.txt): kernel templates with
// their manifests and prelude, named relative to kernels/, and model lists, relative to models/.

#include "support/embedded_file.h"

#include <span>

namespace kiln {

std::span<const EmbeddedFile> embedded_kernels();
std::span<const EmbeddedFile> embedded_models();

}  // namespace kiln
