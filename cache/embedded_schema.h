// SPDX-License-Identifier: Apache-2.0
#pragma once

// The SQL files of this layer.

#include "support/embedded_file.h"

#include <span>
#include <string>
#include <string_view>

namespace kiln {

std::span<const EmbeddedFile> embedded_schema();  // generated

// One that is there.
inline std::string schema_text(std::string_view file_name) {
  for (const EmbeddedFile& file : embedded_schema()) {
    if (file.name == file_name) return std::string(file.text);
  }
  return {};
}

}  // namespace kiln
