// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string_view>

namespace kiln::test {

// Whether the environment asks for every case.
inline bool is_full() {
  const char* value = std::getenv("KILN_STRESS");
  return value != nullptr && std::string_view(value) == "full";
}

}  // namespace kiln::test
