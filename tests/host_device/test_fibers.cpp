// SPDX-License-Identifier: Apache-2.0

#include "tests/host_device/fibers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace kiln::host {
namespace {

constexpr std::uint32_t kWholeWarp = 0xFFFFFFFF;

Grid one_block(unsigned threads, Order order = Order::ascending) {
  return {.blocks = {1, 1, 1}, .threads = {threads, 1, 1}, .order = order};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("fibers") {
  TEST_CASE("every thread of every block runs once, with its own indices") {
    const Grid grid = {.blocks = {3, 2, 2}, .threads = {5, 2, 1}};
    std::vector<int> calls(3 * 2 * 2 * 5 * 2);
    const Status status = run_grid(grid, [&] {
      const unsigned block =
          (block_index.z * grid_size.y + block_index.y) * grid_size.x + block_index.x;
      const unsigned thread = thread_index.y * block_size.x + thread_index.x;
      ++calls[block * block_size.x * block_size.y + thread];
    });
    REQUIRE(status.is_ok());
    CHECK(std::all_of(calls.begin(), calls.end(), [](int count) { return count == 1; }));
  }

  TEST_CASE("what is written before a barrier is read after it, whoever goes first") {
    for (const Order order : {Order::ascending, Order::descending}) {
      std::array<unsigned, 96> shared{};
      std::array<unsigned, 96> seen{};
      const Status status = run_grid(one_block(96, order), [&] {
        const unsigned thread = thread_index.x;
        for (unsigned round = 1; round <= 3; ++round) {
          shared[thread] = round * 1000 + thread;
          synchronize_block();
          seen[thread] += shared[(thread + 37) % 96];
          synchronize_block();
        }
      });
      REQUIRE(status.is_ok());
      for (unsigned thread = 0; thread < 96; ++thread) {
        CHECK(seen[thread] == 6000 + 3 * ((thread + 37) % 96));
      }
    }
  }

  TEST_CASE("a missing barrier shows in one of the two orders") {
    std::array<unsigned, 2> seen{};
    for (const Order order : {Order::ascending, Order::descending}) {
      unsigned shared = 0;
      REQUIRE(run_grid(one_block(2, order), [&] {
                if (thread_index.x == 0) shared = 7;
                if (thread_index.x == 1) seen[order == Order::ascending ? 0 : 1] = shared;
              }).is_ok());
    }
    CHECK(seen[0] != seen[1]);
  }

  TEST_CASE("a shuffle hands over the value of the lane that is named, in each warp by itself") {
    std::array<std::uint32_t, 64> received{};
    const Status status = run_grid(one_block(64), [&] {
      const unsigned thread = thread_index.x;
      std::uint32_t value = thread;
      for (unsigned offset = 16; offset > 0; offset /= 2) {
        value = exchange(kWholeWarp, value, (thread % 32) ^ offset);
      }
      received[thread] = value;
    });
    REQUIRE(status.is_ok());
    for (unsigned thread = 0; thread < 64; ++thread)
      CHECK(received[thread] == (thread ^ 31));
  }

  TEST_CASE("two halves of a warp may shuffle apart") {
    std::array<std::uint32_t, 32> received{};
    const Status status = run_grid(one_block(32), [&] {
      const unsigned lane = thread_index.x;
      const unsigned turns = lane < 16 ? 3 : 1;
      for (unsigned turn = 0; turn < turns; ++turn) {
        received[lane] = exchange(lane < 16 ? 0xFFFF : 0xFFFF0000, lane, lane ^ 1);
      }
    });
    REQUIRE(status.is_ok());
    for (unsigned lane = 0; lane < 32; ++lane)
      CHECK(received[lane] == (lane ^ 1));
  }

  TEST_CASE("a thread that leaves while others wait at a barrier is an error, not a hang") {
    const Status status = run_grid(one_block(64), [] {
      if (thread_index.x != 5) synchronize_block();
    });
    CHECK(status.code() == Code::launch_failed);
    CHECK(contains(status.message(), "thread 0 waits at a barrier"));
    CHECK(contains(status.message(), "thread 5 has left the kernel"));
  }

  TEST_CASE("a barrier inside a branch is an error when others shuffle") {
    const Status status = run_grid(one_block(32), [] {
      if (thread_index.x < 16) {
        synchronize_block();
      } else {
        (void)exchange(kWholeWarp, 0, 0);
      }
    });
    CHECK(status.code() == Code::launch_failed);
    CHECK(contains(status.message(), "thread 0 waits at a barrier"));
    CHECK(contains(status.message(), "thread 16 waits in a shuffle"));
  }

  TEST_CASE("lanes that name different masks never meet") {
    const Status status = run_grid(
        one_block(32), [] { (void)exchange(thread_index.x == 3 ? 0xFF : kWholeWarp, 0, 0); });
    CHECK(status.code() == Code::launch_failed);
    CHECK(contains(status.message(), "waits in a shuffle"));
  }

  TEST_CASE("a shuffle is refused where a lane is outside its mask") {
    const Status reads_outside = run_grid(one_block(32), [] {
      if (thread_index.x < 16) (void)exchange(0xFFFF, 0, 20);
    });
    CHECK(contains(reads_outside.message(), "reads lane 20, which is not in mask 0xffff"));

    const Status calls_outside = run_grid(one_block(32), [] { (void)exchange(0xFFFF, 0, 0); });
    CHECK(contains(calls_outside.message(), "thread 16 is not in the mask"));

    const Status absent = run_grid(one_block(16), [] { (void)exchange(kWholeWarp, 0, 0); });
    CHECK(contains(absent.message(), "names absent lane 16"));
  }

  TEST_CASE("a grid runs after one that failed") {
    REQUIRE_FALSE(run_grid(one_block(64), [] {
                    if (thread_index.x != 0) synchronize_block();
                  }).is_ok());
    int calls = 0;
    const Status status = run_grid(one_block(64), [&] {
      synchronize_block();
      ++calls;
    });
    CHECK(status.is_ok());
    CHECK(calls == 64);
  }
}

}  // namespace kiln::host
