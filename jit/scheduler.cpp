// SPDX-License-Identifier: Apache-2.0
#include "jit/scheduler.h"

#include <algorithm>

namespace kiln {

int compiles_at_once(int cores, std::optional<std::int64_t> memory_bytes) {
  std::int64_t count = cores;
  if (memory_bytes) count = std::min(count, *memory_bytes / kMemoryPerCompileBytes);
  return static_cast<int>(std::max<std::int64_t>(count, 1));
}

CompileScheduler::CompileScheduler(int most_at_once)
    : most_at_once_(most_at_once > 0 ? most_at_once
                                     : compiles_at_once(usable_cores(), available_memory_bytes())) {
}

CompileScheduler::Slot::Slot(CompileScheduler& scheduler) : scheduler_(scheduler) {
  std::unique_lock lock(scheduler_.mutex_);
  scheduler_.freed_.wait(lock, [&] { return scheduler_.running_ < scheduler_.most_at_once_; });
  ++scheduler_.running_;
}

CompileScheduler::Slot::~Slot() {
  {
    const std::lock_guard lock(scheduler_.mutex_);
    --scheduler_.running_;
  }
  scheduler_.freed_.notify_one();
}

}  // namespace kiln
