// SPDX-License-Identifier: Apache-2.0
#include "support/text.h"

#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <limits>

namespace kiln {
namespace {

constexpr std::size_t kMaxQuoted = 80;
constexpr std::string_view kByteUnits = "KMGT";
constexpr std::int64_t kByteStep = 1024;

struct Character {
  std::uint32_t code_point = 0;
  std::size_t size = 0;  // 0: no UTF-8
};

Character decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return {};
  std::uint32_t code_point = lead & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    code_point = (code_point << 6U) | (byte(i) & 0x3FU);
  }
  const bool is_overlong = (size == 3 && code_point < 0x800) || (size == 4 && code_point < 0x10000);
  const bool is_surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (is_overlong || is_surrogate || code_point > 0x10FFFF) return {};
  return {code_point, size};
}

// Would end the line, move the cursor or change the direction of what follows.
bool is_unsafe(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x61C || (c >= 0x200E && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF;
}

std::string escaped(const Character& character, std::string_view bytes) {
  switch (character.code_point) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  if (!is_unsafe(character.code_point)) return std::string(bytes);
  if (character.code_point < 0x80) return fmt::format("\\x{:02x}", character.code_point);
  return fmt::format("\\u{:04x}", character.code_point);
}

}  // namespace

std::size_t utf8_size(std::string_view text) {
  return decode(text).size;
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text.push_back(kDigits[byte >> 4U]);
    text.push_back(kDigits[byte & 0xFU]);
  }
  return text;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = utf8_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  std::int64_t bytes = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, bytes);
  if (error != std::errc() || bytes < 0 || text.front() == '-') return std::nullopt;
  if (rest == end) return bytes;
  const char letter = *rest >= 'a' ? static_cast<char>(*rest - 'a' + 'A') : *rest;
  const std::size_t unit = kByteUnits.find(letter);
  if (unit == std::string_view::npos || rest + 1 != end) return std::nullopt;
  for (std::size_t i = 0; i <= unit; ++i) {
    if (bytes > std::numeric_limits<std::int64_t>::max() / kByteStep) return std::nullopt;
    bytes *= kByteStep;
  }
  return bytes;
}

std::string exact_bytes_text(std::int64_t bytes) {
  std::string_view units = kByteUnits;
  std::string unit;
  while (!units.empty() && bytes != 0 && bytes % kByteStep == 0) {
    bytes /= kByteStep;
    unit = units.front();
    units.remove_prefix(1);
  }
  return fmt::format("{}{}", bytes, unit);
}

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  std::size_t position = 0;
  while (position < text.size()) {
    const std::string_view rest = text.substr(position);
    const Character character = decode(rest);
    std::string piece;
    if (character.size == 0) {
      piece = fmt::format("\\x{:02x}", static_cast<std::uint8_t>(rest[0]));
    } else {
      piece = escaped(character, rest.substr(0, character.size));
    }
    if (result.size() + piece.size() > kMaxQuoted + 1) break;
    result += piece;
    position += character.size == 0 ? 1 : character.size;
  }
  if (position == text.size()) return result + '"';
  return fmt::format("{}…\" ({} bytes)", result, text.size());
}

}  // namespace kiln
