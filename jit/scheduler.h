// SPDX-License-Identifier: Apache-2.0
#pragma once

// Bounds how many compiles run at once in this process. A compile takes about 100 MB and one core.

#include <condition_variable>
#include <mutex>

namespace kiln {

class CompileScheduler {
 public:
  // 0: as many as the process may use cores.
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
