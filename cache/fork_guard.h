// SPDX-License-Identifier: Apache-2.0
#pragma once

// Keeps SQLite's state from crossing a fork. A member names the lock under which it uses SQLite and
// how to let go of what a child inherited. A fork waits a moment for the operations in progress, so
// that the child's copy is consistent; the child's first operation then lets every member of the
// process go of its connection before any of them opens a new one. Costs an operation two loads.

#include "support/status.h"

#include <cstdint>
#include <functional>
#include <mutex>

namespace kiln {

class ForkGuard {
 public:
  // Both are borrowed; `let_go` runs in a child, under `mutex`.
  ForkGuard(std::mutex& mutex, std::function<void()> let_go);
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  // Locks the member for one operation. unavailable in a child that was forked while an operation
  // was in progress and did not end within 100 ms: SQLite cannot be used in it.
  Result<std::unique_lock<std::mutex>> lock();

  // Differs between a process and a child that it forked.
  static std::uint32_t generation();
  // Whether lock() can succeed in this process.
  static bool is_usable();

 private:
  friend struct ForkRegistry;
  std::mutex& mutex_;
  std::function<void()> let_go_;
};

}  // namespace kiln
