// SPDX-License-Identifier: Apache-2.0
#include "tools/table.h"

#include "support/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <ctime>

namespace kiln {
namespace {

constexpr double kStep = 1024;
constexpr std::int64_t kMillisecond = 1000;  // us
constexpr std::int64_t kSecond = 1000 * kMillisecond;

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80;
}

// Characters; for the text that Kiln prints, that is columns.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  // U+0080 to U+009F: terminals take some of them for escape sequences.
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t size = utf8_size(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(size, 1));
    result += size == 0 || is_control(character) ? "?" : character;
    text.remove_prefix(character.size());
  }
  return result;
}

std::string indented(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string line = printable(text.substr(0, end));
    result += line.empty() ? "\n" : fmt::format("    {}\n", line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return result;
}

std::string Table::text() const {
  std::vector<std::vector<std::string>> lines;
  auto& titles = lines.emplace_back();
  for (const Column& column : columns_)
    titles.push_back(column.title);
  for (const auto& row : rows_) {
    auto& line = lines.emplace_back();
    for (const std::string& cell : row)
      line.push_back(printable(cell));
  }
  std::vector<std::size_t> widths(columns_.size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(line.at(i)));
    }
  }
  std::string result;
  for (const auto& line : lines) {
    std::string text;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string padding(widths[i] - width_of(line[i]), ' ');
      if (i > 0) text += "  ";
      text += columns_[i].align == Align::left ? line[i] + padding : padding + line[i];
    }
    text.erase(text.find_last_not_of(' ') + 1);
    result += text + '\n';
  }
  return result;
}

void FactList::add(std::string name, std::string value) {
  facts_.emplace_back(std::move(name), std::move(value));
}

std::string FactList::text() const {
  std::size_t width = 0;
  for (const auto& [name, value] : facts_)
    width = std::max(width, width_of(name));
  std::string result;
  for (const auto& [name, value] : facts_) {
    const std::string padding(width - width_of(name), ' ');
    const std::string shown = value.empty() ? "-" : printable(value);
    result += fmt::format("{}:{}  {}\n", printable(name), padding, shown);
  }
  return result;
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes < static_cast<std::int64_t>(kStep)) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / kStep;
  std::string_view unit = "KiB";
  for (const std::string_view next : {"MiB", "GiB", "TiB"}) {
    if (value < kStep) break;
    value /= kStep;
    unit = next;
  }
  return fmt::format("{:.1f} {}", value, unit);
}

std::string duration_text(std::int64_t us) {
  if (us < kMillisecond) return fmt::format("{} us", us);
  if (us < 10 * kMillisecond)
    return fmt::format("{:.1f} ms", static_cast<double>(us) / kMillisecond);
  if (us < 10 * kSecond) return fmt::format("{} ms", us / kMillisecond);
  return fmt::format("{:.1f} s", static_cast<double>(us) / kSecond);
}

std::string time_text(std::int64_t unix_seconds) {
  const auto time = static_cast<std::time_t>(unix_seconds);
  std::tm utc{};
  if (::gmtime_r(&time, &utc) == nullptr) return fmt::format("@{}", unix_seconds);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace kiln
