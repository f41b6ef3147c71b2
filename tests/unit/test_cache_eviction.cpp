// SPDX-License-Identifier: Apache-2.0
// A store that stays within its limit: what leaves it, what stays, and what is left on disk.
#include "cache/eviction.h"
#include "cache/store.h"
#include "cache_fixture.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLimit = 1 << 20;
constexpr std::size_t kImage = 30000;

std::unique_ptr<Store> open_limited(const TemporaryDirectory& directory,
                                    std::int64_t limit_bytes = kLimit) {
  auto store = Store::open(directory.path(), StoreMode::read_write, limit_bytes);
  REQUIRE(store.is_ok());
  return std::move(*store);
}

void put(Store& store, std::uint32_t seed, std::int64_t created_at = 0) {
  EntryFacts facts = sample_facts(seed, kImage);
  if (created_at != 0) facts.created_at = created_at;
  const Status status = store.put(facts, sample_image(seed, kImage));
  INFO(status.message());
  REQUIRE(status.is_ok());
}

bool has(Store& store, std::uint32_t seed) {
  return store.list({.key_prefix = sample_facts(seed).key.hex()})->size() == 1;
}

bool use(Store& store, std::uint32_t seed) {
  return store.find(sample_facts(seed).key)->has_value();
}

void pin(Store& store, std::uint32_t seed) {
  CHECK(*store.set_pinned(std::array{sample_facts(seed).key}, true) == 1);
}

// Of the database, its log and what was quarantined.
std::int64_t bytes_on_disk(const TemporaryDirectory& directory) {
  std::int64_t bytes = 0;
  for (const auto& file : fs::directory_iterator(directory.path())) {
    const std::string name = file.path().filename();
    const bool is_index = name == "store-v1.db-shm";
    if (!is_index) bytes += static_cast<std::int64_t>(fs::file_size(file.path()));
  }
  return bytes;
}

TEST_SUITE("Eviction") {
  TEST_CASE("a hundred entries stay below 1 MiB on disk, and those in use among them") {
    const TemporaryDirectory directory;
    const auto store = open_limited(directory);
    const std::int64_t now = std::time(nullptr);
    for (std::uint32_t seed = 0; seed < 100; ++seed) {
      CAPTURE(seed);
      put(*store, seed, now - 1000 + seed);
      for (const std::uint32_t hot : {0U, 1U, 2U}) {
        if (hot <= seed) CHECK(use(*store, hot));
      }
      CHECK(bytes_on_disk(directory) <= kLimit);
    }
    CHECK(use(*store, 99));
    CHECK_FALSE(use(*store, 3));
    const std::int64_t entries = store->summary()->entries;
    CHECK(entries > 20);
    CHECK(entries < 100);
    RawDatabase raw(database_path(directory));
    CHECK(raw.column("PRAGMA integrity_check").front() == "ok");
    CHECK(raw.integer("SELECT count(*) FROM images") == entries);
    CHECK(raw.integer("SELECT count(*) FROM usage") == 3);
  }

  TEST_CASE("nothing leaves a store below its limit, and one above it shrinks to 90 %") {
    const TemporaryDirectory directory;
    const auto store = open_limited(directory);
    RawDatabase raw(database_path(directory));
    const auto used = [&] {
      return 4096 * (raw.integer("PRAGMA page_count") - raw.integer("PRAGMA freelist_count"));
    };
    std::int64_t before = 0;
    std::uint32_t seed = 0;
    for (; used() >= before; ++seed) {
      before = used();
      CHECK(store->summary()->entries == seed);
      put(*store, seed);
      REQUIRE(seed < 100);
    }
    CHECK(before > kLimit * 92 / 100);
    CHECK(used() <= kLimit * 90 / 100);
    CHECK(used() > kLimit * 80 / 100);
    CHECK(raw.integer("PRAGMA freelist_count") == 0);
    CHECK_FALSE(has(*store, 0));
    CHECK(has(*store, seed - 1));
  }

  TEST_CASE("pinned entries stay, and leave when they are pinned no longer") {
    const TemporaryDirectory directory;
    const auto store = open_limited(directory);
    put(*store, 0);
    put(*store, 1);
    pin(*store, 0);
    for (std::uint32_t seed = 2; seed < 80; ++seed)
      put(*store, seed);
    CHECK(has(*store, 0));
    CHECK_FALSE(has(*store, 1));
    CHECK(store->list({.key_prefix = sample_facts(0).key.hex()})->front().is_pinned);
    CHECK_FALSE(store->list({.key_prefix = sample_facts(79).key.hex()})->front().is_pinned);
    CHECK(*store->set_pinned(std::array{sample_facts(0).key, sample_facts(1).key}, false) == 1);
    for (std::uint32_t seed = 80; seed < 160; ++seed)
      put(*store, seed);
    CHECK_FALSE(has(*store, 0));
  }

  TEST_CASE("the entry just put stays, however old it says it is") {
    const TemporaryDirectory directory;
    const auto store = open_limited(directory);
    for (std::uint32_t seed = 0; seed < 100; ++seed) {
      put(*store, seed, 2000 - seed);
      CHECK(has(*store, seed));
    }
  }

  TEST_CASE("an image larger than the limit is refused with the reason, and nothing leaves") {
    const TemporaryDirectory directory;
    const auto store = open_limited(directory);
    for (std::uint32_t seed = 0; seed < 30; ++seed)
      put(*store, seed);
    const std::int64_t entries = store->summary()->entries;
    const std::string large = sample_image(99, 3 << 20);
    const Status status = store->put(sample_facts(99, large.size()), large);
    CHECK(status.code() == Code::io);
    CHECK(status.message().find("limit is 1M") != std::string::npos);
    CHECK(store->summary()->entries == entries);
    CHECK(bytes_on_disk(directory) <= kLimit);
  }

  TEST_CASE("where pinned entries leave no room, a put is refused and evicts nothing") {
    const TemporaryDirectory directory;
    const auto store = open_limited(directory);
    for (std::uint32_t seed = 0; seed < 20; ++seed)
      put(*store, seed);
    for (std::uint32_t seed = 1; seed < 20; ++seed)
      pin(*store, seed);
    const std::string large = sample_image(99, 1500000);
    const Status status = store->put(sample_facts(99, large.size()), large);
    CHECK(status.code() == Code::io);
    CHECK(status.message().find("pinned") != std::string::npos);
    CHECK(has(*store, 0));
  }

  TEST_CASE("times in the future count as now: neither do they stay for ever nor go first") {
    const TemporaryDirectory directory;
    const auto store = open_limited(directory);
    const std::int64_t now = std::time(nullptr);
    constexpr std::int64_t kYear = 365 * 86400;
    for (std::uint32_t seed = 0; seed < 20; ++seed)
      put(*store, seed, now + kYear);
    for (std::uint32_t seed = 20; seed < 24; ++seed)
      put(*store, seed, now - 1000);
    CHECK(use(*store, 24) == false);
    for (std::uint32_t seed = 24; store->summary()->entries == seed; ++seed)
      put(*store, seed, now - 500);
    // The first eviction took what was used in the past.
    CHECK_FALSE(has(*store, 20));
    CHECK(has(*store, 0));
    RawDatabase raw(database_path(directory));
    CHECK(raw.integer("SELECT count(*) FROM usage") == 20);
    CHECK(raw.integer("SELECT max(last_used_at) FROM usage") < now + 1000);
    // By now these are hours old, as far as anybody knows.
    raw.execute("UPDATE usage SET last_used_at = last_used_at - 7200");
    for (std::uint32_t seed = 100; seed < 140; ++seed)
      put(*store, seed, now);
    CHECK_FALSE(has(*store, 0));
    CHECK(has(*store, 139));
  }

  TEST_CASE("a clock that was set back to 1970 leaves the order of use as it was") {
    const TemporaryDirectory directory;
    const auto store = open_limited(directory);
    const std::int64_t ahead = std::time(nullptr) + 1000000;
    for (std::uint32_t seed = 0; store->summary()->entries == seed; ++seed)
      put(*store, seed, ahead + (seed * 7) % 50);
    std::int64_t least = INT64_MAX;
    const auto rows = store->list({});
    REQUIRE(rows.is_ok());
    for (const EntryRow& row : *rows)
      least = std::min(least, row.facts.created_at);
    CHECK(least > ahead);
    CHECK_FALSE(has(*store, 0));
    CHECK(has(*store, 7));
  }

  TEST_CASE("what was quarantined counts, and goes before any entry does") {
    const TemporaryDirectory directory;
    write_text(database_path(directory), std::string(700000, 'x'));
    fs::permissions(database_path(directory), fs::perms::owner_read | fs::perms::owner_write);
    const auto store = open_limited(directory);
    const std::string quarantine = directory.file("store-v1.quarantine.db");
    put(*store, 0);
    CHECK(exists(quarantine));
    CHECK(store->summary()->quarantine_bytes == 700000);
    std::uint32_t seed = 1;
    for (; exists(quarantine); ++seed) {
      put(*store, seed);
      CHECK(bytes_on_disk(directory) <= kLimit);
      REQUIRE(seed < 40);
    }
    CHECK(store->summary()->entries == seed);
  }

  TEST_CASE("what is known about entries that are gone goes, but for pins") {
    const TemporaryDirectory directory;
    const auto store = open_limited(directory);
    put(*store, 0);
    RawDatabase raw(database_path(directory));
    raw.execute(
        "INSERT INTO usage (key, last_used_at) VALUES (x'01', 1);"
        "INSERT INTO usage (key, pinned) VALUES (zeroblob(32), 1), (randomblob(32), 0);"
        "INSERT INTO verdicts SELECT key, 'd', 'r', 'o', 'equal', 1, 0, 1 FROM entries;"
        "INSERT INTO verdicts VALUES (randomblob(32), 'd', 'r', 'o', 'equal', 1, 0, 1)");
    for (std::uint32_t seed = 1; seed < 80; ++seed)
      put(*store, seed);
    CHECK_FALSE(has(*store, 0));
    CHECK(raw.integer("SELECT count(*) FROM verdicts") == 0);
    CHECK(raw.integer("SELECT count(*) FROM usage WHERE length(key) = 32") == 1);
    CHECK(raw.integer("SELECT pinned FROM usage WHERE length(key) = 32") == 1);
  }

  TEST_CASE("a removal takes a bounded part, and spares what was used or pinned meanwhile") {
    const TemporaryDirectory directory;
    const auto store = open_limited(directory, 1 << 30);
    std::vector<Candidate> candidates;
    constexpr std::uint32_t kEntries = Removal::kMostAtOnce + 100;
    for (std::uint32_t seed = 0; seed < kEntries; ++seed) {
      REQUIRE(store->put(sample_facts(seed, 1), "i").is_ok());
      candidates.push_back({.key = sample_facts(seed).key, .last_used_at = 0});
    }
    CHECK(store->find(candidates[1].key)->has_value());
    REQUIRE(store->flush().is_ok());
    pin(*store, 2);
    auto connection = Connection::open(database_path(directory), Connection::Access::read_write);
    REQUIRE(connection.is_ok());
    Removal removal(candidates, false);
    {
      auto transaction = Transaction::begin(**connection);
      REQUIRE(removal.run(**connection, 0).is_ok());  // rolled back: the next one starts over
    }
    for (int round = 0; round < 2; ++round) {
      auto transaction = Transaction::begin(**connection);
      CHECK_FALSE(removal.is_exhausted());
      REQUIRE(removal.run(**connection, 0).is_ok());
      REQUIRE(transaction->commit().is_ok());
      removal.commit();
    }
    CHECK(removal.is_exhausted());
    CHECK(removal.removed().size() == kEntries - 2);
    CHECK(store->summary()->entries == 2);
    CHECK(has(*store, 1));
    CHECK(has(*store, 2));
  }

  TEST_CASE("a store that is far above its limit comes below it with one put") {
    const TemporaryDirectory directory;
    {
      const auto store = open_limited(directory, 1 << 30);
      for (std::uint32_t seed = 0; seed < 1500; ++seed)
        REQUIRE(store->put(sample_facts(seed, 1000), sample_image(seed, 1000)).is_ok());
      CHECK(bytes_on_disk(directory) > 2 * kLimit);
    }
    const auto store = open_limited(directory);
    put(*store, 9999);
    CHECK(bytes_on_disk(directory) <= kLimit * 90 / 100);
    CHECK(has(*store, 9999));
    CHECK(has(*store, 1499));
  }
}

}  // namespace
}  // namespace kiln::test
