// SPDX-License-Identifier: Apache-2.0
#pragma once

// The compiler options of every kernel, by NVRTC version: NVRTC refuses options that it does not
// know. There is no way to add fast-math or anything that reads or writes files.

#include "jit/target.h"
#include "support/status.h"

#include <span>
#include <string>
#include <vector>

namespace kiln {

std::vector<std::string> compile_options(const Target& target, int nvrtc_major, int nvrtc_minor);

// invalid_argument for an option that is not in the table behind compile_options() (any other could
// read or write files, or change results), and unless exactly one names `target`.
Status check_options(std::span<const std::string> options, const Target& target);

}  // namespace kiln
