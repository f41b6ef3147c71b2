// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pauses between attempts at what others hold: each up to twice the one before, and with jitter, so
// that waiters who began together do not come back together.

#include <chrono>
#include <cstdint>

namespace kiln {

class Backoff {
 public:
  explicit Backoff(std::chrono::microseconds longest);

  // Sleeps: half a millisecond at first, at most the longest.
  void pause();

 private:
  std::chrono::microseconds longest_;
  std::chrono::microseconds next_{1000};
  std::uint32_t jitter_;
};

}  // namespace kiln
