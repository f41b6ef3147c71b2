// SPDX-License-Identifier: Apache-2.0
#include "cache/compile_seats.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <thread>

namespace kiln {
namespace {

using std::chrono::milliseconds;
using test::TemporaryDirectory;

}  // namespace

TEST_SUITE("CompileSeats") {
  TEST_CASE("there is one for each CPU, whoever takes it") {
    const TemporaryDirectory directory;
    CompileSeats a(directory.path(), {0, 1});
    CompileSeats b(directory.path(), {0, 1});
    auto first = a.try_take();
    REQUIRE(first.has_value());
    {
      const auto second = b.try_take();
      CHECK(second.has_value());
      CHECK_FALSE(a.try_take().has_value());
      CHECK_FALSE(b.try_take().has_value());
    }
    CHECK(a.try_take().has_value());
    first.reset();
    const auto third = b.try_take();
    const auto fourth = b.try_take();
    CHECK((third.has_value() && fourth.has_value()));
    CHECK_FALSE(a.try_take().has_value());
  }

  TEST_CASE("processes on other CPUs have other seats") {
    const TemporaryDirectory directory;
    CompileSeats a(directory.path(), {0, 1});
    CompileSeats b(directory.path(), {1, 1023});
    const auto first = a.try_take();
    const auto second = a.try_take();
    CHECK((first.has_value() && second.has_value()));
    const auto third = b.try_take();
    CHECK(third.has_value());
    CHECK_FALSE(b.try_take().has_value());
  }

  TEST_CASE("threads of one process never share a seat") {
    const TemporaryDirectory directory;
    CompileSeats seats(directory.path(), {0, 1, 2});
    std::atomic<int> seated{0};
    std::atomic<int> most{0};
    std::atomic<int> taken{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int round = 0; round < 200; ++round) {
          const auto seat = seats.try_take();
          if (!seat) continue;
          ++taken;
          const int now = ++seated;
          for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
          }
          std::this_thread::yield();
          --seated;
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    CHECK(taken > 0);
    CHECK(most <= 3);
  }

  TEST_CASE("after its turn a process leaves the seat to those who wait") {
    const TemporaryDirectory directory;
    CompileSeats holder(directory.path(), {0}, milliseconds(0));
    CompileSeats other(directory.path(), {0}, milliseconds(0));
    CHECK(holder.try_take().has_value());
    CHECK(holder.try_take().has_value());  // nobody waits
    {
      const CompileSeats::Waiting waiting(other);
      const CompileSeats::Waiting again(other);
      const auto rests = [&] {
        static_cast<void>(holder.try_take());
        return !holder.try_take().has_value();
      };
      CHECK(holder.try_take().has_value());
      // On a busy machine the rest may be over by the next line.
      CHECK((rests() || rests() || rests()));
      CHECK(other.try_take().has_value());
    }
    std::this_thread::sleep_for(CompileSeats::kRest);
    CHECK(holder.try_take().has_value());
    CHECK(holder.try_take().has_value());
  }

  TEST_CASE("in a queue a newcomer takes only what stays free for a while") {
    const TemporaryDirectory directory;
    CompileSeats queued(directory.path(), {0});
    CompileSeats newcomer(directory.path(), {0});
    const CompileSeats::Waiting waiting(queued);
    const auto start = CompileSeats::Clock::now();
    CHECK(newcomer.try_take().has_value());
    CHECK(CompileSeats::Clock::now() - start >= CompileSeats::kGap);
  }

  TEST_CASE(
      "within its turn a process keeps its seat, and its own threads do not count as others") {
    const TemporaryDirectory directory;
    CompileSeats holder(directory.path(), {0}, std::chrono::hours(1));
    CompileSeats other(directory.path(), {0});
    const CompileSeats::Waiting waiting(other);
    CHECK(holder.try_take().has_value());
    CHECK(holder.try_take().has_value());

    const TemporaryDirectory lonely;
    CompileSeats self(lonely.path(), {0}, milliseconds(0));
    const CompileSeats::Waiting own(self);
    CHECK(self.try_take().has_value());
    CHECK(self.try_take().has_value());
  }

  TEST_CASE("where locks do not work everybody has a seat") {
    const TemporaryDirectory directory;
    CompileSeats seats(directory.path() + "/missing", {0});
    const auto first = seats.try_take();
    const auto second = seats.try_take();
    CHECK((first.has_value() && second.has_value()));
    const CompileSeats::Waiting waiting(seats);
  }

  TEST_CASE("the lock file is private and stays empty") {
    const TemporaryDirectory directory;
    CompileSeats seats(directory.path(), {0});
    const CompileSeats::Waiting waiting(seats);
    const auto seat = seats.try_take();
    const std::filesystem::path file = directory.file("seats.lock");
    CHECK(std::filesystem::file_size(file) == 0);
    CHECK(std::filesystem::status(file).permissions() == std::filesystem::perms(0600));
  }
}

}  // namespace kiln
