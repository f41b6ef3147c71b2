// SPDX-License-Identifier: Apache-2.0

#include "tests/host_device/fibers.h"

#include "tests/host_device/fiber_stack.h"

#include <ucontext.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace kiln::host {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): CUDA's own are global
Index thread_index, block_index, block_size, grid_size;

namespace {

constexpr unsigned kWarpSize = 32;

enum class State { runnable, at_barrier, in_shuffle, left };

struct Fiber {
  ucontext_t context{};
  void* fake_stack = nullptr;
  Index index;
  State state = State::runnable;
  // in_shuffle:
  std::uint32_t mask = 0;
  std::uint32_t value = 0;
  unsigned source = 0;
  std::uint32_t received = 0;
};

class Block {
 public:
  Block(const Grid& grid, const std::function<void()>& kernel)
      : grid_(grid),
        kernel_(kernel),
        fibers_(std::size_t{grid.threads.x} * grid.threads.y * grid.threads.z),
        stacks_(std::make_unique<Stack[]>(fibers_.size())) {}

  Status run();
  Status check_memory() const;
  // From within a fiber: gives the turn back until the state is runnable again.
  void wait(State state);
  Fiber& current() { return *current_; }

 private:
  static void enter();
  void start(std::size_t thread);
  void resume(Fiber& fiber, const Stack& stack);
  bool run_all_that_can();
  bool release_barrier();
  Status release_shuffles(bool& is_released);
  Status release_shuffle(std::size_t warp, Fiber& fiber, bool& is_released);
  Status stuck() const;

  const Grid& grid_;
  const std::function<void()>& kernel_;
  std::vector<Fiber> fibers_;
  std::unique_ptr<Stack[]> stacks_;
  ucontext_t scheduler_{};
  void* scheduler_fake_stack_ = nullptr;
  const void* scheduler_bottom_ = nullptr;
  std::size_t scheduler_bytes_ = 0;
  Fiber* current_ = nullptr;
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): kernels pass no context
Block* running = nullptr;

void Block::enter() {
  Block& block = *running;
  after_switch(nullptr, &block.scheduler_bottom_, &block.scheduler_bytes_);
  block.kernel_();
  block.current_->state = State::left;
  // A null fake stack says that this fiber never comes back.
  before_switch(nullptr, block.scheduler_bottom_, block.scheduler_bytes_);
  setcontext(&block.scheduler_);
}

void Block::start(std::size_t thread) {
  Fiber& fiber = fibers_[thread];
  fiber = Fiber{};
  const auto linear = static_cast<unsigned>(thread);
  fiber.index = {linear % grid_.threads.x, linear / grid_.threads.x % grid_.threads.y,
                 linear / (grid_.threads.x * grid_.threads.y)};
  stacks_[thread].clean();
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = stacks_[thread].bottom();
  fiber.context.uc_stack.ss_size = Stack::kBytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, &Block::enter, 0);
}

void Block::resume(Fiber& fiber, const Stack& stack) {
  current_ = &fiber;
  thread_index = fiber.index;
  before_switch(&scheduler_fake_stack_, stack.bottom(), Stack::kBytes);
  swapcontext(&scheduler_, &fiber.context);
  after_switch(scheduler_fake_stack_, nullptr, nullptr);
}

void Block::wait(State state) {
  Fiber& fiber = *current_;
  fiber.state = state;
  before_switch(&fiber.fake_stack, scheduler_bottom_, scheduler_bytes_);
  swapcontext(&fiber.context, &scheduler_);
  after_switch(fiber.fake_stack, nullptr, nullptr);
}

bool Block::run_all_that_can() {
  bool any = false;
  for (std::size_t i = 0; i < fibers_.size(); ++i) {
    const std::size_t thread = grid_.order == Order::ascending ? i : fibers_.size() - 1 - i;
    if (fibers_[thread].state != State::runnable) continue;
    resume(fibers_[thread], stacks_[thread]);
    any = true;
  }
  return any;
}

bool Block::release_barrier() {
  const bool all = std::all_of(fibers_.begin(), fibers_.end(),
                               [](const Fiber& fiber) { return fiber.state == State::at_barrier; });
  if (!all) return false;
  for (Fiber& fiber : fibers_)
    fiber.state = State::runnable;
  return true;
}

// Releases the lanes of one shuffle if all that its mask names have come to it.
Status Block::release_shuffle(std::size_t warp, Fiber& fiber, bool& is_released) {
  const std::size_t begin = warp * kWarpSize;
  const std::size_t count = std::min<std::size_t>(kWarpSize, fibers_.size() - begin);
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
    if ((fiber.mask >> lane & 1) == 0) continue;
    if (lane >= count) return failure(Code::launch_failed, "a shuffle names absent lane {}", lane);
    const Fiber& other = fibers_[begin + lane];
    if (other.state != State::in_shuffle || other.mask != fiber.mask) return {};
  }
  const std::uint32_t mask = fiber.mask;
  for (std::size_t lane = 0; lane < count; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    Fiber& receiver = fibers_[begin + lane];
    if ((mask >> receiver.source & 1) == 0) {
      return failure(Code::launch_failed, "thread {} reads lane {}, which is not in mask {:#x}",
                     begin + lane, receiver.source, mask);
    }
    receiver.received = fibers_[begin + receiver.source].value;
  }
  for (std::size_t lane = 0; lane < count; ++lane) {
    if ((mask >> lane & 1) != 0) fibers_[begin + lane].state = State::runnable;
  }
  is_released = true;
  return {};
}

Status Block::release_shuffles(bool& is_released) {
  for (std::size_t thread = 0; thread < fibers_.size(); ++thread) {
    Fiber& fiber = fibers_[thread];
    if (fiber.state != State::in_shuffle) continue;
    if ((fiber.mask >> (thread % kWarpSize) & 1) == 0) {
      return failure(Code::launch_failed, "thread {} is not in the mask {:#x} of its own shuffle",
                     thread, fiber.mask);
    }
    KILN_TRY(release_shuffle(thread / kWarpSize, fiber, is_released));
  }
  return {};
}

Status Block::stuck() const {
  std::string text;
  for (const auto& [state, doing] : {std::pair(State::at_barrier, "waits at a barrier"),
                                     std::pair(State::in_shuffle, "waits in a shuffle"),
                                     std::pair(State::left, "has left the kernel")}) {
    const auto found =
        std::find_if(fibers_.begin(), fibers_.end(),
                     [state = state](const Fiber& fiber) { return fiber.state == state; });
    if (found == fibers_.end()) continue;
    text += fmt::format("{}thread {} {}", text.empty() ? "" : ", ", found - fibers_.begin(), doing);
  }
  return failure(Code::launch_failed, "block ({}, {}, {}) is stuck: {}", block_index.x,
                 block_index.y, block_index.z, text);
}

Status Block::check_memory() const {
  for (std::size_t i = 0; i < fibers_.size(); ++i) {
    if (!stacks_[i].is_valid()) return system_failure(Code::out_of_memory, errno, "mmap");
  }
  return {};
}

Status Block::run() {
  running = this;
  for (std::size_t i = 0; i < fibers_.size(); ++i)
    start(i);
  while (true) {
    bool is_released = run_all_that_can();
    is_released = release_barrier() || is_released;
    KILN_TRY(release_shuffles(is_released));
    if (is_released) continue;
    const bool is_done = std::all_of(fibers_.begin(), fibers_.end(),
                                     [](const Fiber& fiber) { return fiber.state == State::left; });
    return is_done ? Status() : stuck();
  }
}

}  // namespace

void synchronize_block() {
  running->wait(State::at_barrier);
}

std::uint32_t exchange(std::uint32_t mask, std::uint32_t value, unsigned source) {
  Fiber& fiber = running->current();
  fiber.mask = mask;
  fiber.value = value;
  fiber.source = source;
  running->wait(State::in_shuffle);
  return fiber.received;
}

Status run_grid(const Grid& grid, const std::function<void()>& kernel) {
  assert(grid.threads.x > 0 && grid.threads.y > 0 && grid.threads.z > 0);
  Block block(grid, kernel);
  KILN_TRY(block.check_memory());
  grid_size = grid.blocks;
  block_size = grid.threads;
  for (unsigned z = 0; z < grid.blocks.z; ++z) {
    for (unsigned y = 0; y < grid.blocks.y; ++y) {
      for (unsigned x = 0; x < grid.blocks.x; ++x) {
        block_index = {x, y, z};
        KILN_TRY(block.run());
      }
    }
  }
  return {};
}

}  // namespace kiln::host
