// SPDX-License-Identifier: Apache-2.0
#pragma once

// Text for people: aligned columns, and units. What comes from a cache or a file may hold anything;
// nothing here lets it reach the terminal as a control sequence.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // One cell a column.
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // The titles and all rows, two spaces between columns.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "name:  value" lines with the values below each other; an empty value prints as "-".
class FactList {
 public:
  void add(std::string name, std::string value);
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> facts_;
};

// Control characters and bytes that are no UTF-8 replaced by '?'.
std::string printable(std::string_view text);
// Every line indented by four spaces and made printable; ends with a newline unless empty.
std::string indented(std::string_view text);

std::string bytes_text(std::int64_t bytes);        // "17.4 KiB"
std::string duration_text(std::int64_t us);        // "132 ms"
std::string time_text(std::int64_t unix_seconds);  // "2026-01-31T12:00:00Z"

}  // namespace kiln
