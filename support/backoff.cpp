// SPDX-License-Identifier: Apache-2.0
#include "support/backoff.h"

#include <algorithm>
#include <thread>

namespace kiln {

Backoff::Backoff(std::chrono::microseconds longest)
    : longest_(longest),
      jitter_(
          static_cast<std::uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count()) |
          1U) {}

void Backoff::pause() {
  // xorshift
  jitter_ ^= jitter_ << 13U;
  jitter_ ^= jitter_ >> 17U;
  jitter_ ^= jitter_ << 5U;
  const std::chrono::microseconds half = std::min(next_, longest_) / 2;
  std::this_thread::sleep_for(half + half * (jitter_ % 1024) / 1024);
  next_ = std::min(2 * next_, longest_);
}

}  // namespace kiln
