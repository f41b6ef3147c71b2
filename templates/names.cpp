// SPDX-License-Identifier: Apache-2.0
#include "templates/names.h"

#include <algorithm>
#include <cstddef>

namespace kiln {
namespace {

constexpr std::size_t kMaxName = 64;
constexpr std::size_t kMaxFileName = 255;

// Not <cctype>: that one depends on the locale.
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return is_lower(c) || (c >= 'A' && c <= 'Z');
}

template <typename Predicate>
bool all_parts(std::string_view text, std::string_view separator, Predicate holds) {
  while (true) {
    const std::size_t end = text.find(separator);
    if (!holds(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + separator.size());
  }
}

}  // namespace

bool is_manifest_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName && is_lower(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
}

bool is_identifier(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName && !is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

bool is_qualified_name(std::string_view text) {
  return all_parts(text, "::", is_identifier);
}

bool is_file_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxFileName && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == '+' || c == '-';
         });
}

bool is_include_name(std::string_view text) {
  return all_parts(text, "/", is_file_name);
}

}  // namespace kiln
