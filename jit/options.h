// SPDX-License-Identifier: Apache-2.0
#pragma once

// The compiler options of every kernel, by NVRTC version: NVRTC refuses options that it does not
// know. There is no way to add fast-math or anything that reads or writes files.

#include "jit/target.h"

#include <string>
#include <vector>

namespace kiln {

std::vector<std::string> compile_options(const Target& target, int nvrtc_major, int nvrtc_minor);

}  // namespace kiln
