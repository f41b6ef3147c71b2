// SPDX-License-Identifier: Apache-2.0
#pragma once

// How far a list of work has come: a bar with rate and remaining time on a terminal, one line for
// each finished piece elsewhere. Thread-safe.

#include "tools/console.h"

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace kiln {

class Progress {
 public:
  Progress(Console& console, std::size_t total);
  ~Progress();  // removes the bar
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // One piece is done; `what` says which and how it went.
  void advance(std::string_view what);

 private:
  std::string bar() const;

  Console& console_;
  std::size_t total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::size_t done_ = 0;
};

// "[#####.....] 12/64  3.1/s  0:17 remaining", at most `width` columns; a bar of under ten columns
// is left out.
std::string progress_bar(std::size_t done, std::size_t total, double elapsed_s, int width);

}  // namespace kiln
