// SPDX-License-Identifier: Apache-2.0
#pragma once

// At most one compile for each CPU, among all processes that share a cache directory: a seat is a
// CPU, and belongs to a process for as long as it compiles there. More compiles at once than CPUs
// would finish no sooner, and each process that compiles has to load NVRTC first. So a process that
// has seats may keep taking them, for a few seconds; then it leaves them to those who wait. Advice,
// as build locks are. Thread-safe.

#include "cache/range_locks.h"

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace kiln {

class CompileSeats {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kTurn{3000};
  // What a process needs at most between two compiles.
  static constexpr std::chrono::milliseconds kGap{30};
  // Longer than those who wait need to find a seat free, and still free after a gap.
  static constexpr std::chrono::milliseconds kRest{100};

  // `cpus`: where this process may run; others may run elsewhere. It does not take more of them at
  // once.
  CompileSeats(const std::string& cache_directory,
               std::vector<int> cpus,
               std::chrono::milliseconds turn = kTurn);

  // Leaves its seat when it goes out of scope.
  class Seat {
   public:
    Seat(CompileSeats& seats, std::optional<std::size_t> index);
    Seat(Seat&& other) noexcept;
    Seat& operator=(Seat&&) = delete;
    ~Seat();

   private:
    CompileSeats* seats_;
    std::optional<std::size_t> index_;  // into `cpus`; nullopt where locks do not work
  };

  // nullopt: all are taken, or it is the turn of others.
  std::optional<Seat> try_take();

  // While there is one, others know that somebody waits for a seat.
  class Waiting {
   public:
    explicit Waiting(CompileSeats& seats);
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting();

   private:
    CompileSeats& seats_;
  };

 private:
  // Of those that no thread of this process has.
  Result<std::optional<std::size_t>> try_lock_one();
  void leave(std::size_t index);

  const std::vector<int> cpus_;
  const std::chrono::milliseconds turn_;
  RangeLocks locks_;

  std::mutex mutex_;  // guards all below
  std::vector<bool> is_taken_;
  int taken_ = 0;
  int waiting_ = 0;
  Clock::time_point last_left_{};
  std::optional<Clock::time_point> turn_began_;
  Clock::time_point rests_until_{};
};

}  // namespace kiln
