// SPDX-License-Identifier: Apache-2.0
#pragma once

// Look-up in short lists of names and values: parameters, tuning values, integer arguments.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln {

// Null if there is none of that name.
template <typename Value>
const Value* find_value(const std::vector<std::pair<std::string, Value>>& list,
                        std::string_view name) {
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  return found == list.end() ? nullptr : &found->second;
}

}  // namespace kiln
