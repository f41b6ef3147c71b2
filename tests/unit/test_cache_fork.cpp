// SPDX-License-Identifier: Apache-2.0
#include "cache/fork_guard.h"
#include "cache_fixture.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

namespace kiln::test {
namespace {

TEST_SUITE("ForkGuard") {
  TEST_CASE("a forked child opens a connection of its own, and the parent's goes on") {
    const TemporaryDirectory directory;
    const auto one = open_store(directory.path());
    const auto two = open_store(directory.path());
    put_sample(*one, 1);
    CHECK(finds_sample(*one, 1));
    CHECK(in_child([&] {
            CHECK(finds_sample(*one, 1));
            put_sample(*two, 2);
            put_sample(*one, 3);
            CHECK(finds_sample(*two, 3));
            CHECK(finds_sample(*open_store(directory.path()), 2));
            // A grandchild does the same.
            CHECK(in_child([&] { put_sample(*one, 4); }) == 0);
          }) == 0);
    put_sample(*two, 5);
    for (const std::uint32_t seed : {1U, 2U, 3U, 4U, 5U}) {
      CHECK(finds_sample(*one, seed));
      CHECK(finds_sample(*two, seed));
    }
    RawDatabase raw(database_path(directory));
    CHECK(raw.column("PRAGMA integrity_check").front() == "ok");
    CHECK(one->summary()->quarantined == 0);
  }

  TEST_CASE("a child that closes the parent's stores leaves their log in place") {
    const TemporaryDirectory directory;
    auto store = open_store(directory.path());
    put_sample(*store, 1);
    CHECK(in_child([&] { store.reset(); }) == 0);
    CHECK(exists(directory.file("store-v1.db-wal")));
    put_sample(*store, 2);
    CHECK(finds_sample(*store, 1));
  }

  TEST_CASE("the parent's locks hold while a child uses the store and ends") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    put_sample(*store, 1);
    CHECK(in_child([&] { put_sample(*store, 2); }) == 0);
    // A third process closes what it takes for the last connection if the parent's lock is gone,
    // and would remove the log.
    CHECK(in_child([&] { open_store(directory.path()); }) == 0);
    CHECK(exists(directory.file("store-v1.db-wal")));
    CHECK(finds_sample(*store, 2));
  }

  TEST_CASE("hits that the parent has yet to write are not written twice") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    put_sample(*store, 1);
    CHECK(finds_sample(*store, 1));
    CHECK(in_child([&] {
            CHECK(finds_sample(*store, 1));
            CHECK(store->flush().is_ok());
          }) == 0);
    CHECK(store->flush().is_ok());
    CHECK(store->list({})->front().hits == 2);
  }

  TEST_CASE("forks while threads use the store give children that work or say why not") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    put_sample(*store, 0);
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (std::uint32_t thread = 0; thread < 3; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::uint32_t i = 0; !stop; i = (i + 1) % 5) {
          const std::uint32_t seed = 1 + thread * 5 + i;
          [[maybe_unused]] const Status put = store->put(sample_facts(seed), sample_image(seed));
          [[maybe_unused]] const auto found = store->find(sample_facts(seed).key);
        }
      });
    }
    for (int i = 0; i < 10; ++i) {
      const int status = in_child([&] {
        ::alarm(60);
        const auto found = store->find(sample_facts(0).key);
        if (found.is_ok()) {
          CHECK(found->has_value());
          return;
        }
        CHECK((found.status().code() == Code::unavailable || found.status().code() == Code::busy));
      });
      CHECK(status == 0);
    }
    stop = true;
    for (std::thread& thread : threads)
      thread.join();
    CHECK(finds_sample(*store, 0));
    CHECK(store->summary()->quarantined == 0);
  }

  TEST_CASE("a child forked in the middle of an operation is told so") {
    std::mutex mutex;
    int let_go = 0;
    ForkGuard guard(mutex, [&] { ++let_go; });
    std::atomic<bool> stop{false};
    std::atomic<bool> is_locked{false};
    std::thread holder([&] {
      const auto lock = guard.lock();
      is_locked = true;
      while (!stop)
        std::this_thread::yield();
    });
    while (!is_locked)
      std::this_thread::yield();
    CHECK(in_child([&] {
            CHECK(guard.lock().status().code() == Code::unavailable);
            const TemporaryDirectory directory;
            CHECK(Store::open(directory.path(), StoreMode::read_write).status().code() ==
                  Code::unavailable);
          }) == 0);
    stop = true;
    holder.join();
    CHECK(guard.lock().is_ok());
    CHECK(in_child([&] {
            CHECK(guard.lock().is_ok());
            CHECK(guard.lock().is_ok());
            CHECK(let_go == 1);
          }) == 0);
    CHECK(let_go == 0);
  }
}

}  // namespace
}  // namespace kiln::test
