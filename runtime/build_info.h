// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the library was built with, for `kiln --version`, `kiln doctor` and kiln_build_info().

#include <string>

namespace kiln {

// "version=0.1.0 cuda_headers=13.0 sqlite=3.40.1 zstd=1.5.4 key_schema=1 store_schema=1"
std::string build_info();

}  // namespace kiln
