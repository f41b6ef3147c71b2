// SPDX-License-Identifier: Apache-2.0
#pragma once

// Strict reading of JSON: nothing is taken for something else, no member is ignored, and nothing
// throws. The failures are invalid_argument and say where. Knows nothing of what the members mean.

#include "support/compute_capability.h"
#include "support/status.h"
#include "support/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln {

// Refuses, beside syntax errors, a member given twice and nesting deeper than any of our formats.
Result<nlohmann::json> parse_json(std::string_view text);

// Each leaves `value` alone on failure.
Status decode(const nlohmann::json& json, bool& value);
Status decode(const nlohmann::json& json, std::int64_t& value);
Status decode(const nlohmann::json& json, double& value);
// One line of printable text.
Status decode(const nlohmann::json& json, std::string& value);
Status decode(const nlohmann::json& json, std::vector<std::string>& value);
// "8.9"
Status decode(const nlohmann::json& json, ComputeCapability& value);
template <typename T>
Status decode(const nlohmann::json& json, std::optional<T>& value) {
  T present{};
  KILN_TRY(decode(json, present));
  value = present;
  return {};
}

// The text of a string, integer, real or boolean, the last three in canonical form.
Result<std::string> scalar_text(const nlohmann::json& json);

// Reads an object's members one by one; finish() then refuses every member that was not asked for.
// Borrows the JSON and the members' names.
class JsonObject {
 public:
  static Result<JsonObject> open(const nlohmann::json& json);

  template <typename T>
  Status required(std::string_view member, T& value) {
    const nlohmann::json* json = find(member);
    if (json == nullptr) return failure(Code::invalid_argument, "member \"{}\" is missing", member);
    return decode(*json, value).with_context(member);
  }
  // Leaves `value` alone if there is no such member.
  template <typename T>
  Status optional(std::string_view member, T& value) {
    const nlohmann::json* json = find(member);
    return json == nullptr ? Status() : decode(*json, value).with_context(member);
  }
  // invalid_argument if there is no such member.
  Status require(std::string_view member);
  // Null if absent. Counts as asked for.
  const nlohmann::json* find(std::string_view member);
  Status finish() const;

 private:
  bool is_asked(std::string_view member) const;
  explicit JsonObject(const nlohmann::json& json) : json_(&json) {}

  const nlohmann::json* json_;
  std::vector<std::string_view> asked_;
};

// Calls `read(element)`, which returns a Status, for every element; failures name the index.
template <typename Read>
Status for_each_element(const nlohmann::json& json, Read read) {
  if (!json.is_array()) return failure(Code::invalid_argument, "must be a list");
  for (std::size_t i = 0; i < json.size(); ++i) {
    const Status status = read(json[i]);
    if (!status.is_ok()) return status.with_context(fmt::format("[{}]", i));
  }
  return {};
}

// Reads a list of objects, each with `read(object, element)`.
template <typename T, typename Read>
Status read_list(JsonObject& object, std::string_view member, std::vector<T>& list, Read read) {
  const nlohmann::json* elements = object.find(member);
  if (elements == nullptr) return {};
  return for_each_element(*elements,
                          [&](const nlohmann::json& element) -> Status {
                            KILN_TRY_ASSIGN(JsonObject fields, JsonObject::open(element));
                            KILN_TRY(read(fields, list.emplace_back()));
                            return fields.finish();
                          })
      .with_context(member);
}

// A fixed set of names and what they stand for; "unknown" for what has none.
template <typename T, std::size_t Count>
std::string_view name_of(const std::pair<std::string_view, T> (&names)[Count], T value) {
  const auto* found = std::find_if(std::begin(names), std::end(names),
                                   [&](const auto& entry) { return entry.second == value; });
  return found == std::end(names) ? "unknown" : found->first;
}

// Reads one of these names.
template <typename T, std::size_t Count>
Status required_name(JsonObject& object,
                     std::string_view member,
                     const std::pair<std::string_view, T> (&names)[Count],
                     T& value) {
  std::string text;
  KILN_TRY(object.required(member, text));
  std::vector<std::string_view> known;
  for (const auto& [name, candidate] : names) {
    if (name == text) {
      value = candidate;
      return {};
    }
    known.push_back(name);
  }
  return failure(Code::invalid_argument, "{} is {}; allowed: {}", member, in_quotes(text),
                 joined(known, ", "));
}

}  // namespace kiln
