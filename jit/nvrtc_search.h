// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where a libnvrtc may be: names for the loader, then well-known directories. Looks at directories,
// loads nothing, reads no environment variable.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

// "libnvrtc.so.13", … in the order in which they are tried.
std::span<const std::string_view> nvrtc_names();

// The directories that a CUDA toolkit or a distribution installs libraries to, that exist; the
// newest toolkit first after the default one. `root` is prepended to each ("" outside tests).
std::vector<std::string> nvrtc_directories(const std::string& root);

// Library files in `directory`, in the order of nvrtc_names().
std::vector<std::string> nvrtc_files_in(const std::string& directory);

}  // namespace kiln
