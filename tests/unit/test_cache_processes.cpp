// SPDX-License-Identifier: Apache-2.0
// One store and many processes, some of which are killed. The program starts itself as a helper:
// test_cache_processes helper <what> <directory> <seed>.
#define DOCTEST_CONFIG_IMPLEMENT
#include "cache_fixture.h"
#include "tests/support/helper_process.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <signal.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <random>
#include <string_view>

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

// Puts and finds an entry; the exit status tells which of the two failed.
int put_and_find(Store& store, std::uint32_t seed) {
  if (const Status put = store.put(sample_facts(seed), sample_image(seed)); !put.is_ok()) {
    fmt::print(stderr, "put: {}\n", put.message());
    return 2;
  }
  const auto found = store.find(sample_facts(seed).key);
  if (!found.is_ok()) return 3;
  if (*found && (*found)->image != sample_image(seed)) return 4;
  return *found ? 0 : 5;
}

// Tells each put.
int helper(std::string_view what, const std::string& directory, std::uint32_t seed) {
  const auto store = Store::open(directory, StoreMode::read_write);
  if (!store.is_ok()) return 1;
  if (what == "once") return put_and_find(**store, seed);
  const std::uint32_t count = what == "many" ? 40 : 1000000;
  for (std::uint32_t i = 0; i < count; ++i) {
    const int status = put_and_find(**store, seed + i % 200);
    // 5: another process quarantined the database in between.
    if (status != 0 && status != 5) return status;
    if (!HelperProcess::tell(seed + i % 200)) return 6;
  }
  return 0;
}

// helper <what> <directory> <seed>
class Helper : public HelperProcess {
 public:
  Helper(const char* what, const TemporaryDirectory& directory, std::uint32_t seed)
      : HelperProcess({what, directory.path(), std::to_string(seed)}) {}

  // Waits for up to `count` puts; fewer if the helper ends.
  int wait_for_puts(int count) const { return static_cast<int>(read(count).size()); }
};

void check_integrity(const TemporaryDirectory& directory) {
  RawDatabase raw(database_path(directory));
  CHECK(raw.column("PRAGMA integrity_check").front() == "ok");
  CHECK(raw.integer("SELECT count(*) FROM entries") == raw.integer("SELECT count(*) FROM images"));
}

TEST_SUITE("Store processes") {
  TEST_CASE("16 processes create one database at once") {
    for (int round = 0; round < 3; ++round) {
      const TemporaryDirectory directory;
      std::vector<std::unique_ptr<Helper>> helpers;
      for (std::uint32_t i = 0; i < 16; ++i) {
        helpers.push_back(std::make_unique<Helper>("once", directory, i));
      }
      for (const auto& process : helpers)
        CHECK(process->wait() == 0);
      const auto store = open_store(directory.path());
      for (std::uint32_t i = 0; i < 16; ++i)
        CHECK(finds_sample(*store, i));
      check_integrity(directory);
      CHECK_FALSE(exists(directory.file("store-v1.quarantine.db")));
    }
  }

  TEST_CASE("a process killed while it creates the database leaves nothing in the way") {
    std::mt19937 random(1);
    for (int round = 0; round < 20; ++round) {
      const TemporaryDirectory directory;
      Helper process("once", directory, 1);
      ::usleep(static_cast<useconds_t>(
          random() % 30000));  // not to wait for anything, but to be killed anywhere
      process.kill_and_wait();
      Helper next("once", directory, 2);
      CHECK(next.wait() == 0);
      check_integrity(directory);
      CHECK_FALSE(exists(directory.file("store-v1.quarantine.db")));
    }
  }

  TEST_CASE("what was acknowledged survives a kill, and what was not is whole or absent") {
    const TemporaryDirectory directory;
    std::mt19937 random(2);
    for (int round = 0; round < 15; ++round) {
      std::array<std::uint32_t, 2> seeds = {0, 1000};
      std::vector<std::unique_ptr<Helper>> writers;
      for (const std::uint32_t seed : seeds) {
        writers.push_back(std::make_unique<Helper>("endless", directory, seed));
      }
      std::vector<int> acknowledged;
      for (const auto& writer : writers) {
        acknowledged.push_back(writer->wait_for_puts(1 + static_cast<int>(random() % 20)));
      }
      ::usleep(static_cast<useconds_t>(random() % 2000));
      for (const auto& writer : writers)
        CHECK(writer->kill_and_wait() == 128 + SIGKILL);
      const auto store = open_store(directory.path());
      for (std::size_t i = 0; i < seeds.size(); ++i) {
        CHECK(acknowledged[i] > 0);
        for (int put = 0; put < acknowledged[i]; ++put) {
          CHECK(finds_sample(*store, seeds.at(i) + static_cast<std::uint32_t>(put)));
        }
        for (std::uint32_t seed = 0; seed < 200; ++seed)
          finds_sample(*store, seeds.at(i) + seed);
      }
      CHECK(store->counters()->at(Counter::recovered) == 0);
      CHECK(store->summary()->quarantined == 0);
    }
    check_integrity(directory);
  }

  TEST_CASE("writers go on while their log, index and database are deleted and damaged") {
    for (int round = 0; round < 10; ++round) {
      const TemporaryDirectory directory;
      std::vector<std::unique_ptr<Helper>> writers;
      for (std::uint32_t i = 0; i < 4; ++i) {
        writers.push_back(std::make_unique<Helper>("many", directory, i * 1000));
      }
      const std::string database = database_path(directory);
      const auto vandalize = [&](int what) {
        std::error_code ignored;
        if (what == 0) fs::remove(database + "-wal", ignored);
        if (what == 1) fs::remove(database + "-shm", ignored);
        if (what == 2) fs::remove(database, ignored);
        if (what == 3) write_text(database, "text");
      };
      for (int what = 0; what < 4; ++what) {
        for (const auto& writer : writers)
          CHECK(writer->wait_for_puts(4) == 4);
        vandalize(what);
      }
      for (const auto& writer : writers) {
        writer->wait_for_puts(1000);
        CHECK(writer->wait() == 0);
      }
      const auto store = open_store(directory.path());
      CHECK(put_and_find(*store, 7) == 0);
      CHECK(store->summary()->quarantined <= 1);
    }
  }
}

}  // namespace
}  // namespace kiln::test

int main(int argc, char** argv) {
  if (argc == 5 && std::string_view(argv[1]) == "helper") {
    return kiln::test::helper(argv[2], argv[3], static_cast<std::uint32_t>(std::stoul(argv[4])));
  }
  return doctest::Context(argc, argv).run();
}
