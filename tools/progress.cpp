// SPDX-License-Identifier: Apache-2.0
#include "tools/progress.h"

#include <fmt/core.h>

#include <algorithm>

namespace kiln {
namespace {

// Of the bar.
constexpr std::size_t kMostColumns = 40;
constexpr std::size_t kFewestColumns = 10;
constexpr std::size_t kFrame = 3;  // brackets and a space

}  // namespace

std::string progress_bar(std::size_t done, std::size_t total, double elapsed_s, int width) {
  std::string text = fmt::format("{}/{}", done, total);
  if (done > 0 && elapsed_s > 0) {
    const double rate = static_cast<double>(done) / elapsed_s;
    const auto remaining_s = static_cast<std::int64_t>(static_cast<double>(total - done) / rate);
    text += fmt::format("  {:.1f}/s  {}:{:02} remaining", rate, remaining_s / 60, remaining_s % 60);
  }
  // One column stays free: a full line would wrap.
  const auto room = static_cast<std::size_t>(std::max(width - 1, 0));
  if (room < text.size()) return text.substr(0, room);
  const std::size_t left = room - text.size();
  if (left < kFrame + kFewestColumns) return text;
  const std::size_t columns = std::min(left - kFrame, kMostColumns);
  const std::size_t filled = total == 0 ? columns : columns * done / total;
  return fmt::format("[{}{}] {}", std::string(filled, '#'), std::string(columns - filled, '.'),
                     text);
}

Progress::Progress(Console& console, std::size_t total) : console_(console), total_(total) {
  console_.set_status_line(bar());
}

Progress::~Progress() {
  console_.set_status_line("");
}

void Progress::advance(std::string_view what) {
  // Held while printing, so that the counts come in order.
  const std::lock_guard lock(mutex_);
  ++done_;
  if (console_.is_terminal()) {
    console_.set_status_line(bar());
  } else {
    console_.write_message(fmt::format("[{}/{}] {}\n", done_, total_, what));
  }
}

std::string Progress::bar() const {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  return progress_bar(done_, total_, elapsed.count(), console_.width());
}

}  // namespace kiln
