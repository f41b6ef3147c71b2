// SPDX-License-Identifier: Apache-2.0
#pragma once

// The form of every --json answer: one object that starts with its schema number, members in the
// order of docs/cli.md, valid UTF-8 whatever the cache holds.

#include "tools/console.h"

#include <nlohmann/json.hpp>

#include <optional>

namespace kiln {

using Json = nlohmann::ordered_json;

// Raised when a member changes its meaning or goes; new members may be added at any time.
constexpr int kJsonSchema = 1;

Status write_json(Console& console, const Json& json);

template <typename T>
Json json_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace kiln
