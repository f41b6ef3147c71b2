// SPDX-License-Identifier: Apache-2.0
#pragma once

// What one engine did since it was opened. Counters only grow.

#include <atomic>
#include <cstdint>

namespace kiln {

struct Statistics {
  std::int64_t memory_hits = 0;
  std::int64_t disk_hits = 0;
  std::int64_t pack_hits = 0;
  std::int64_t misses = 0;
  std::int64_t compiles = 0;
  std::int64_t compile_failures = 0;
  std::int64_t other_toolchain_hits = 0;  // disk and pack hits that another NVRTC compiled
  std::int64_t recovered = 0;             // damaged entries dropped
  std::int64_t store_failures = 0;        // kernels returned though the store failed
  std::int64_t waits = 0;                 // requests that waited for another thread's compile
  std::int64_t process_waits = 0;         // that waited for another process's compile
  std::int64_t process_wait_us = 0;       // how long they did, together
  std::int64_t lock_timeouts = 0;         // that compiled on their own after waiting in vain
};

struct AtomicStatistics {
  std::atomic<std::int64_t> memory_hits{0}, disk_hits{0}, pack_hits{0}, misses{0}, compiles{0},
      compile_failures{0}, other_toolchain_hits{0}, recovered{0}, store_failures{0}, waits{0},
      process_waits{0}, process_wait_us{0}, lock_timeouts{0};

  Statistics read() const {
    return {
        memory_hits,          disk_hits, pack_hits,      misses, compiles,      compile_failures,
        other_toolchain_hits, recovered, store_failures, waits,  process_waits, process_wait_us,
        lock_timeouts};
  }
};

}  // namespace kiln
