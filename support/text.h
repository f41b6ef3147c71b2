// SPDX-License-Identifier: Apache-2.0
#pragma once

// Text for messages: what a user typed may hold anything and be of any length; a message is one
// line of valid UTF-8.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kiln {

bool is_utf8(std::string_view text);
// Bytes of the UTF-8 character that `text`, which is not empty, starts with; 0 if it is none.
std::size_t utf8_size(std::string_view text);

// Two lower-case digits a byte.
std::string to_hex(std::string_view bytes);

// `text` between double quotes. Quotes, backslashes, control and direction-changing characters and
// bytes that are no UTF-8 are escaped; what is longer than about 80 characters is cut, and the full
// length stated behind it.
std::string in_quotes(std::string_view text);

// Bytes as people write them: decimal digits, then K, M, G or T (of either case) for powers of
// 1024. nullopt for anything else, and for more than 63 bits.
std::optional<std::int64_t> parse_bytes(std::string_view text);
// The shortest text that parse_bytes() takes for exactly `bytes`, which is not negative.
std::string exact_bytes_text(std::int64_t bytes);

// The elements with `separator` between them.
template <typename Range>
std::string joined(const Range& range, std::string_view separator) {
  std::string text;
  bool is_first = true;
  for (const auto& element : range) {
    if (!is_first) text += separator;
    text += element;
    is_first = false;
  }
  return text;
}

}  // namespace kiln
