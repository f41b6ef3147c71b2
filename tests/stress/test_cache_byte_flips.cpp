// SPDX-License-Identifier: Apache-2.0
// A small database with one byte changed, one after the other: those of every header in several
// ways, and of the others some in every page, or with KILN_STRESS=full all.
#include "cache/store.h"
#include "cache_fixture.h"
#include "support/log.h"
#include "tests/stress/effort.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <string_view>

namespace kiln::test {
namespace {

constexpr std::uint32_t kEntries = 3;
constexpr std::size_t kImageBytes = 100;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kHeader = 112;  // of the file, and of the tables and the tree in it
constexpr std::size_t kPageHeader = 24;
constexpr unsigned kLongestS = 30;
constexpr std::array<unsigned char, 5> kPatterns = {0x01, 0x80, 0xFF, 0x10, 0x7E};

volatile std::sig_atomic_t position_now = 0;

// A hang is the end of the program, which says where it was.
void tell_of_hang(int) {
  std::array<char, 64> text{};
  const auto end = fmt::format_to_n(text.begin(), text.size(), "hangs at byte {}\n",
                                    static_cast<int>(position_now));
  [[maybe_unused]] const auto written = ::write(2, text.data(), end.size);
  ::_exit(1);
}

EntryFacts facts_of(std::uint32_t seed) {
  return keyed_facts(seed, kImageBytes);
}

void put(Store& store, std::uint32_t seed) {
  const Status status = store.put(facts_of(seed), sample_image(seed, kImageBytes));
  INFO(status.message());
  CHECK(status.is_ok());
}

// A hit with what was put, or a miss.
bool finds(Store& store, std::uint32_t seed) {
  const auto found = store.find(facts_of(seed).key);
  INFO(found.status().message());
  REQUIRE(found.is_ok());
  if (!found->has_value()) return false;
  CHECK((*found)->facts == facts_of(seed));
  CHECK((*found)->image == sample_image(seed, kImageBytes));
  return true;
}

// A closed database with rows in every table, as bytes.
std::string sound_database(const TemporaryDirectory& directory) {
  {
    const auto store = open_store(directory.path());
    for (std::uint32_t seed = 0; seed < kEntries; ++seed) {
      put(*store, seed);
      CHECK(finds(*store, seed));
    }
    store->count(Counter::misses);
    REQUIRE(store->flush().is_ok());
    REQUIRE(
        store->put_toolchain_memo({.path = "/usr/lib/libnvrtc.so", .toolchain = "nvrtc"}).is_ok());
    RawDatabase(database_path(directory))
        .execute("INSERT INTO verdicts SELECT key, 'd', '1', 'o', 'equal', 9, 0, 5 FROM entries");
  }
  REQUIRE_FALSE(exists(directory.file("store-v1.db-wal")));
  return read_text(database_path(directory));
}

// The numbers that say whose database it is, and of which schema.
bool is_identity(std::size_t position) {
  return (position >= 60 && position < 64) || (position >= 68 && position < 72);
}

// What looking says: whether all is sound. It changes nothing.
bool looks_sound(const TemporaryDirectory& directory, std::string_view damaged) {
  const auto store = Store::open(directory.path(), StoreMode::inspect);
  bool is_sound = false;
  if (store.is_ok()) {
    const auto seen = (*store)->verify(false);
    INFO(seen.status().message());
    REQUIRE(seen.is_ok());
    is_sound = seen->is_sound();
  } else {
    INFO(store.status().message());
    CHECK(store.status().code() == Code::corrupt);
  }
  CHECK(read_text(database_path(directory)) == damaged);
  return is_sound;
}

void check_flip(const TemporaryDirectory& directory,
                std::string damaged,
                std::size_t position,
                unsigned char pattern) {
  CAPTURE(position);
  CAPTURE(pattern);
  position_now = static_cast<int>(position);
  ::alarm(kLongestS);
  damaged[position] = static_cast<char>(damaged[position] ^ pattern);
  for (const char* suffix : {"", "-wal", "-shm"})
    std::filesystem::remove(database_path(directory) + suffix);
  write_text(database_path(directory), damaged);
  REQUIRE(::chmod(database_path(directory).c_str(), 0600) == 0);
  if (is_identity(position)) {
    // Another's database, as far as anyone can know; or one that is neither.
    const auto store = Store::open(directory.path(), StoreMode::read_write);
    CHECK((store.is_ok() || store.status().code() == Code::unsupported));
    return;
  }
  const bool is_sound = looks_sound(directory, damaged);
  const auto store = open_store(directory.path());
  std::uint32_t hits = 0;
  for (std::uint32_t seed = 0; seed < kEntries; ++seed)
    hits += finds(*store, seed) ? 1 : 0;
  if (is_sound) CHECK(hits == kEntries);
  CHECK(store->list({}).is_ok());
  CHECK(store->counters().is_ok());
  CHECK(store->toolchain_memos().is_ok());
  // It goes on, and the most that it took is one new database.
  put(*store, 1);
  CHECK(finds(*store, 1));
  const Status flushed = store->flush();
  INFO(flushed.message());
  CHECK(flushed.is_ok());
  CHECK(store->summary()->quarantined <= 1);
}

TEST_SUITE("Store byte flips") {
  TEST_CASE("whatever byte of a database is changed, no image is wrong and the store goes on") {
    // In memory where that is to be had: this is thousands of databases.
    if (::access("/dev/shm", W_OK) == 0) ::setenv("TMPDIR", "/dev/shm", 1);
    const TemporaryDirectory directory;
    const std::string sound = sound_database(directory);
    set_log_sink({}, LogLevel::off);
    std::signal(SIGALRM, tell_of_hang);
    // No divisor of a page's size, so that every page has others.
    const std::size_t stride = is_full() ? 1 : 23;
    int flips = 0;
    for (std::size_t position = 0; position < sound.size(); ++position) {
      const bool is_header = position < kHeader || position % kPage < kPageHeader;
      if (!is_header && position % stride != 0) continue;
      for (std::size_t i = 0; i < (is_header ? kPatterns.size() : 1); ++i) {
        check_flip(directory, sound, position, kPatterns[(position + i) % kPatterns.size()]);
        ++flips;
      }
    }
    ::alarm(0);
    MESSAGE(flips, " changes of ", sound.size(), " bytes");
    CHECK(flips > 0);
  }
}

}  // namespace
}  // namespace kiln::test
