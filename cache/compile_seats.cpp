// SPDX-License-Identifier: Apache-2.0
#include "cache/compile_seats.h"

#include "support/files.h"
#include "support/log.h"

#include <limits>
#include <thread>
#include <utility>

namespace kiln {
namespace {

constexpr off_t kWaitingByte = std::numeric_limits<off_t>::max() - 1;  // behind all CPUs

}  // namespace

CompileSeats::CompileSeats(const std::string& cache_directory,
                           std::vector<int> cpus,
                           std::chrono::milliseconds turn)
    : cpus_(std::move(cpus)),
      turn_(turn),
      locks_(join_path(cache_directory, "seats.lock")),
      is_taken_(cpus_.size()) {}

CompileSeats::Seat::Seat(CompileSeats& seats, std::optional<std::size_t> index)
    : seats_(&seats), index_(index) {}

CompileSeats::Seat::Seat(Seat&& other) noexcept
    : seats_(other.seats_), index_(std::exchange(other.index_, std::nullopt)) {}

CompileSeats::Seat::~Seat() {
  if (index_) seats_->leave(*index_);
}

std::optional<CompileSeats::Seat> CompileSeats::try_take() {
  const std::lock_guard lock(mutex_);
  if (Clock::now() < rests_until_) return std::nullopt;
  Result<std::optional<std::size_t>> index = try_lock_one();
  const bool is_newcomer = taken_ == 0 && Clock::now() - last_left_ > kGap;
  if (is_newcomer && index.is_ok() && *index && locks_.is_locked_elsewhere(kWaitingByte)) {
    // There is a queue, and who left the seat a moment ago comes back for the next compile.
    locks_.unlock(cpus_[**index]);
    std::this_thread::sleep_for(kGap);
    index = try_lock_one();
  }
  if (!index.is_ok()) {
    log(LogLevel::debug, "compiling without a seat: {}", index.status().message());
    return Seat(*this, std::nullopt);
  }
  if (!*index) {
    turn_began_.reset();
    return std::nullopt;
  }
  is_taken_[**index] = true;
  ++taken_;
  if (!turn_began_) turn_began_ = Clock::now();
  return Seat(*this, *index);
}

Result<std::optional<std::size_t>> CompileSeats::try_lock_one() {
  for (std::size_t i = 0; i < cpus_.size(); ++i) {
    if (is_taken_[i]) continue;
    KILN_TRY_ASSIGN(const bool is_mine, locks_.try_lock(cpus_[i]));
    if (is_mine) return std::optional(i);
  }
  return std::optional<std::size_t>();
}

void CompileSeats::leave(std::size_t index) {
  const std::lock_guard lock(mutex_);
  locks_.unlock(cpus_[index]);
  is_taken_[index] = false;
  --taken_;
  last_left_ = Clock::now();
  if (!turn_began_ || last_left_ - *turn_began_ < turn_) return;
  if (locks_.is_locked_elsewhere(kWaitingByte)) rests_until_ = last_left_ + kRest;
  turn_began_.reset();
}

CompileSeats::Waiting::Waiting(CompileSeats& seats) : seats_(seats) {
  const std::lock_guard lock(seats_.mutex_);
  if (seats_.waiting_++ > 0) return;
  if (const auto locked = seats_.locks_.try_lock(kWaitingByte, RangeLocks::Kind::shared);
      !locked.is_ok()) {
    log(LogLevel::debug, "waiting unannounced: {}", locked.status().message());
  }
}

CompileSeats::Waiting::~Waiting() {
  const std::lock_guard lock(seats_.mutex_);
  if (--seats_.waiting_ == 0) seats_.locks_.unlock(kWaitingByte);
}

}  // namespace kiln
