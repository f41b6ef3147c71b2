// SPDX-License-Identifier: Apache-2.0
#pragma once

// A text file compiled into the library by kiln_embed() (cmake/KilnTargets.cmake).

#include <span>
#include <string_view>

namespace kiln {

struct EmbeddedFile {
  std::string_view name;  // relative path, '/'-separated
  std::string_view text;
};

}  // namespace kiln
