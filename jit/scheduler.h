// SPDX-License-Identifier: Apache-2.0
#pragma once

// Bounds how many compiles run at once in this process. A compile takes one core and, for a large
// kernel, over 100 MB.

#include "jit/host_limits.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

namespace kiln {

// What a compile is reckoned to take when memory decides how many may run.
constexpr std::int64_t kMemoryPerCompileBytes = std::int64_t{256} << 20U;

// As many as there are cores and memory for; at least 1.
int compiles_at_once(int cores, std::optional<std::int64_t> memory_bytes);

class CompileScheduler {
 public:
  // 0: as many as the process may use cores and has memory for.
  explicit CompileScheduler(int most_at_once);

  // Held for the length of one compile; blocks until one is free.
  class Slot {
   public:
    explicit Slot(CompileScheduler& scheduler);
    ~Slot();
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

   private:
    CompileScheduler& scheduler_;
  };

  int most_at_once() const { return most_at_once_; }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  int most_at_once_;
  int running_ = 0;
};

}  // namespace kiln
