// SPDX-License-Identifier: Apache-2.0
#include "cache/fork_guard.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace kiln {

struct ForkRegistry {
  std::mutex mutex;  // taken before any member's
  std::vector<ForkGuard*> members;
  std::size_t locked_members = 0;  // by the fork in progress
  // Counts forks between this process and the one that loaded the library.
  std::atomic<std::uint32_t> generation{0};
  std::atomic<std::uint32_t> settled_generation{0};  // whose inheritance has been let go
  std::atomic<bool> is_usable{true};

  // Never destroyed: a fork may come after static destruction.
  static ForkRegistry& get() {
    static ForkRegistry& registry = *make();
    return registry;
  }
  static ForkRegistry* make() {
    pthread_atfork(&ForkRegistry::before, &ForkRegistry::after_in_parent,
                   &ForkRegistry::after_in_child);
    return new ForkRegistry;
  }

  void settle() {
    const std::lock_guard lock(mutex);
    if (settled_generation == generation) return;
    for (ForkGuard* member : members) {
      const std::lock_guard member_lock(member->mutex_);
      member->let_go_();
    }
    settled_generation = generation.load();
  }

  static void before();
  static void after_in_parent();
  static void after_in_child();
  void unlock_members();
};

namespace {

// Whether the fork that this thread is in the middle of holds the registry's lock.
thread_local bool holds_registry = false;

bool lock_until(std::mutex& mutex, std::chrono::steady_clock::time_point deadline) {
  while (!mutex.try_lock()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

}  // namespace

void ForkRegistry::before() {
  ForkRegistry& self = get();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  holds_registry = lock_until(self.mutex, deadline);
  if (!holds_registry) return;
  self.locked_members = 0;
  for (ForkGuard* member : self.members) {
    if (!lock_until(member->mutex_, deadline)) return;
    ++self.locked_members;
  }
}

void ForkRegistry::unlock_members() {
  for (std::size_t i = 0; i < locked_members; ++i)
    members[i]->mutex_.unlock();
  locked_members = 0;
}

void ForkRegistry::after_in_parent() {
  if (!holds_registry) return;
  ForkRegistry& self = get();
  self.unlock_members();
  holds_registry = false;
  self.mutex.unlock();
}

void ForkRegistry::after_in_child() {
  ForkRegistry& self = get();
  ++self.generation;
  if (!holds_registry || self.locked_members != self.members.size()) self.is_usable = false;
  if (!holds_registry) return;
  self.unlock_members();
  holds_registry = false;
  self.mutex.unlock();
}

ForkGuard::ForkGuard(std::mutex& mutex, std::function<void()> let_go)
    : mutex_(mutex), let_go_(std::move(let_go)) {
  if (!is_usable()) return;
  ForkRegistry& registry = ForkRegistry::get();
  const std::lock_guard lock(registry.mutex);
  registry.members.push_back(this);
}

ForkGuard::~ForkGuard() {
  if (!is_usable()) return;
  ForkRegistry& registry = ForkRegistry::get();
  const std::lock_guard lock(registry.mutex);
  std::erase(registry.members, this);
}

std::uint32_t ForkGuard::generation() {
  return ForkRegistry::get().generation.load(std::memory_order_relaxed);
}

bool ForkGuard::is_usable() {
  return ForkRegistry::get().is_usable.load(std::memory_order_relaxed);
}

Result<std::unique_lock<std::mutex>> ForkGuard::lock() {
  ForkRegistry& registry = ForkRegistry::get();
  if (!is_usable()) {
    return failure(Code::unavailable,
                   "the process was forked in the middle of a store operation; no store can be "
                   "used in the child");
  }
  if (registry.settled_generation.load(std::memory_order_acquire) !=
      registry.generation.load(std::memory_order_relaxed)) {
    registry.settle();
  }
  return std::unique_lock(mutex_);
}

}  // namespace kiln
