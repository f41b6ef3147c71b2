// SPDX-License-Identifier: Apache-2.0
// Verifying a store whose database is damaged, large, or in use.
#include "cache/store.h"
#include "cache_fixture.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <atomic>
#include <filesystem>
#include <thread>

namespace kiln::test {
namespace {

constexpr std::size_t kPage = 4096;

void put_keyed(Store& store, std::uint32_t seed, std::size_t bytes = 20000) {
  const Status status = store.put(keyed_facts(seed, bytes), sample_image(seed, bytes));
  INFO(status.message());
  REQUIRE(status.is_ok());
}

// A closed store with six entries, as bytes.
std::string sound_database(const TemporaryDirectory& directory) {
  {
    const auto store = open_store(directory.path());
    for (std::uint32_t seed = 0; seed < 6; ++seed)
      put_keyed(*store, seed);
  }
  return read_text(database_path(directory));
}

TEST_SUITE("Store verify database") {
  TEST_CASE("any zeroed page is found, named, and gone after a repair") {
    const TemporaryDirectory directory;
    const std::string sound = sound_database(directory);
    for (std::size_t page = 0; page * kPage < sound.size(); ++page) {
      CAPTURE(page);
      std::string damaged = sound;
      damaged.replace(page * kPage, kPage, std::string(kPage, '\0'));
      write_text(database_path(directory), damaged);
      if (page == 0) {
        CHECK(Store::open(directory.path(), StoreMode::inspect).status().code() == Code::corrupt);
      } else {
        const auto seen = open_store(directory.path(), StoreMode::inspect)->verify(false);
        REQUIRE(seen.is_ok());
        CHECK_FALSE(seen->is_sound());
        CHECK(read_text(database_path(directory)) == damaged);
      }
      const auto store = open_store(directory.path());
      const auto repaired = store->verify(true);
      REQUIRE(repaired.is_ok());
      CHECK_FALSE(repaired->is_sound());
      CHECK(repaired->is_quarantined == !repaired->database_errors.empty());
      CHECK(repaired->is_quarantined == (store->summary()->quarantined == 1));
      const auto after = open_store(directory.path())->verify(false);
      REQUIRE(after.is_ok());
      CHECK(after->is_sound());
    }
  }

  TEST_CASE("an index that disagrees with its table is damage of the database") {
    const TemporaryDirectory directory;
    sound_database(directory);
    {
      RawDatabase raw(database_path(directory));
      raw.execute("PRAGMA writable_schema = ON");
      raw.execute(
          "UPDATE sqlite_schema SET sql = 'CREATE INDEX entries_by_request ON entries "
          "(toolchain, created_at)' WHERE name = 'entries_by_request'");
    }
    const auto seen = open_store(directory.path(), StoreMode::inspect)->verify(false);
    REQUIRE(seen.is_ok());
    REQUIRE_FALSE(seen->database_errors.empty());
    CHECK(seen->database_errors.size() <= 20);
    CHECK(seen->database_errors.front().find("entries_by_request") != std::string::npos);
    CHECK(seen->entries == 6);  // which can be read, and are sound
    CHECK(seen->damaged_entries == 0);
    CHECK_FALSE(seen->is_quarantined);

    const auto store = open_store(directory.path());
    const auto looked = store->verify(false);  // moves nothing, although it could
    REQUIRE(looked.is_ok());
    CHECK(looked->database_errors == seen->database_errors);
    CHECK(store->summary()->quarantined == 0);
    const auto repaired = store->verify(true);
    REQUIRE(repaired.is_ok());
    CHECK(repaired->database_errors == seen->database_errors);
    CHECK(repaired->is_quarantined);
    CHECK(exists(directory.file("store-v1.quarantine.db")));
    CHECK(store->summary()->entries == 0);
    CHECK(open_store(directory.path())->verify(true)->is_sound());
  }

  TEST_CASE("a database that was damaged when it was opened is told of") {
    const TemporaryDirectory directory;
    { put_keyed(*open_store(directory.path()), 1); }
    write_text(database_path(directory), "text");
    const auto store = open_store(directory.path());
    const auto repaired = store->verify(true);
    REQUIRE(repaired.is_ok());
    CHECK(repaired->is_quarantined);
    CHECK(repaired->database_errors.size() == 1);
    CHECK_FALSE(repaired->is_sound());
  }

  TEST_CASE("more damage than fits one step is found and dropped") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    for (std::uint32_t seed = 0; seed < 200; ++seed)
      put_keyed(*store, seed, 100);
    RawDatabase raw(database_path(directory));
    raw.execute("UPDATE entries SET registers = 1 WHERE id % 4 <> 0");
    raw.execute("DELETE FROM images WHERE entry % 4 = 1");
    raw.execute("INSERT INTO images SELECT 1000 + id, x'00' FROM entries");
    const auto repaired = store->verify(true);
    REQUIRE(repaired.is_ok());
    CHECK(repaired->entries == 200);
    CHECK(repaired->damaged_entries == 150);
    CHECK(repaired->damaged_rows == 350);
    CHECK(repaired->dropped_rows == 350);
    CHECK(repaired->damage.size() == 350);
    CHECK(store->counters()->at(Counter::recovered) == 150);
    CHECK(raw.integer("SELECT count(*) FROM images") == 50);
    CHECK(store->verify(false)->is_sound());
  }

  TEST_CASE("a list of damage has an end, its count has not") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    RawDatabase raw(database_path(directory));
    raw.execute(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10050) "
        "INSERT INTO usage SELECT CAST(i AS BLOB), 1, 1, 0 FROM n");
    const auto repaired = store->verify(true);
    REQUIRE(repaired.is_ok());
    CHECK(repaired->damaged_rows == 10050);
    CHECK(repaired->dropped_rows == 10050);
    CHECK(repaired->damage.size() == Store::Verification::kMostDamage);
    CHECK(raw.integer("SELECT count(*) FROM usage") == 0);
  }

  TEST_CASE("entries that another store replaces meanwhile are neither damaged nor lost") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    for (std::uint32_t seed = 0; seed < 20; ++seed)
      put_keyed(*store, seed, 500);
    std::atomic<bool> is_done{false};
    std::atomic<int> rounds{0};
    std::thread writer([&] {
      const auto other = Store::open(directory.path(), StoreMode::read_write);
      while (!is_done && other.is_ok()) {
        for (std::uint32_t seed = 0; seed < 20; ++seed) {
          if (!(*other)->put(keyed_facts(seed, 500), sample_image(seed, 500)).is_ok()) return;
        }
        ++rounds;
      }
    });
    for (int round = 0; round < 20 || rounds < 2; ++round) {
      const auto verification = store->verify(round % 2 == 0);
      CHECK(verification.is_ok());
      if (!verification.is_ok()) break;
      CHECK(verification->is_sound());
    }
    is_done = true;
    writer.join();
    CHECK(rounds > 0);
    CHECK(store->summary()->entries == 20);
  }
}

}  // namespace
}  // namespace kiln::test
