// SPDX-License-Identifier: Apache-2.0
#include "support/forkless_fd.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace kiln {
namespace {

constexpr int kFree = -1;
constexpr int kClosed = -2;  // by the handler; its owner still has the slot

// A child may run nothing but what is safe in a signal handler: no lock, no allocation.
struct Slots {
  std::array<std::atomic<int>, 256> fds;

  // Never destroyed: a fork may come after static destruction.
  static Slots& get() {
    static Slots& slots = *make();
    return slots;
  }
  static Slots* make() {
    auto* slots = new Slots;
    for (std::atomic<int>& fd : slots->fds)
      fd = kFree;
    pthread_atfork(nullptr, nullptr, [] { get().close_all(); });
    return slots;
  }
  std::atomic<int>* take(int fd) {
    for (std::atomic<int>& slot : fds) {
      int free = kFree;
      if (slot.compare_exchange_strong(free, fd)) return &slot;
    }
    return nullptr;
  }
  void close_all() {
    for (std::atomic<int>& slot : fds) {
      const int fd = slot.load();
      if (fd < 0) continue;
      slot = kClosed;
      ::close(fd);
    }
  }
};

}  // namespace

ForklessFd::ForklessFd(UniqueFd fd) {
  if (!fd) return;
  slot_ = Slots::get().take(fd.get());
  if (slot_ == nullptr) {
    unshared_ = std::move(fd);
  } else {
    [[maybe_unused]] const int kept = fd.release();
  }
}

ForklessFd::ForklessFd(ForklessFd&& other) noexcept
    : slot_(std::exchange(other.slot_, nullptr)), unshared_(std::move(other.unshared_)) {}

ForklessFd& ForklessFd::operator=(ForklessFd&& other) noexcept {
  if (this == &other) return *this;
  reset();
  slot_ = std::exchange(other.slot_, nullptr);
  unshared_ = std::move(other.unshared_);
  return *this;
}

ForklessFd::~ForklessFd() {
  reset();
}

int ForklessFd::get() const {
  if (slot_ == nullptr) return unshared_.get();
  const int fd = slot_->load();
  return fd < 0 ? -1 : fd;
}

void ForklessFd::reset() noexcept {
  if (slot_ == nullptr) return;
  const int fd = slot_->exchange(kFree);
  if (fd >= 0) ::close(fd);
  slot_ = nullptr;
}

}  // namespace kiln
