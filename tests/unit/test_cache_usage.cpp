// SPDX-License-Identifier: Apache-2.0
#include "cache/usage.h"
#include "cache_fixture.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

namespace kiln::test {
namespace {

EntryRow row_of(Store& store, std::uint32_t seed) {
  const auto rows = store.list({.key_prefix = sample_facts(seed).key.hex()});
  REQUIRE(rows.is_ok());
  REQUIRE(rows->size() == 1);
  return rows->front();
}

TEST_SUITE("Usage") {
  TEST_CASE("what has been noted is due after a minute, and not again before the next") {
    const Usage::Clock::time_point start{};
    const auto after = [&](int seconds) { return start + std::chrono::seconds(seconds); };
    Usage usage(start);
    CHECK_FALSE(usage.is_due(after(1000)));
    usage.note_hit(digest_of("k"), 5);
    CHECK_FALSE(usage.is_due(after(59)));
    CHECK(usage.is_due(after(60)));
    usage.note_attempt(after(60));
    CHECK_FALSE(usage.is_due(after(119)));
    CHECK(usage.is_due(after(120)));
    usage.clear();
    CHECK_FALSE(usage.is_due(after(120)));
  }

  TEST_CASE("a hit writes nothing, and shows at once") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    put_sample(*store, 1);
    RawDatabase raw(database_path(directory));
    const std::int64_t version = raw.integer("PRAGMA data_version");
    for (int i = 0; i < 3; ++i)
      CHECK(finds_sample(*store, 1));
    CHECK(raw.integer("PRAGMA data_version") == version);
    CHECK(row_of(*store, 1).hits == 3);
    CHECK(row_of(*store, 1).last_used_at > sample_facts(1).created_at);
    REQUIRE(store->flush().is_ok());
    CHECK(raw.integer("PRAGMA data_version") != version);
    CHECK(row_of(*store, 1).hits == 3);
    CHECK(raw.integer("SELECT hits FROM usage") == 3);
  }

  TEST_CASE("hits of several stores add up, at the latest when they close") {
    const TemporaryDirectory directory;
    put_sample(*open_store(directory.path()), 1);
    for (int i = 0; i < 3; ++i) {
      const auto store = open_store(directory.path());
      CHECK(finds_sample(*store, 1));
      CHECK(store->find_request(sample_facts(1).request)->has_value());
    }
    const auto store = open_store(directory.path());
    CHECK(row_of(*store, 1).hits == 6);
    CHECK(finds_sample(*store, 1));
    CHECK(row_of(*store, 1).hits == 7);
  }

  TEST_CASE("an order by hits or last use counts those not yet written") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    for (const std::uint32_t seed : {1U, 2U})
      put_sample(*store, seed);
    CHECK(store->list({})->front().facts.key == sample_facts(2).key);
    CHECK(finds_sample(*store, 1));
    CHECK(store->list({.limit = 1})->front().facts.key == sample_facts(1).key);
    CHECK(store->list({.order = EntryOrder::hits})->front().facts.key == sample_facts(1).key);
  }

  TEST_CASE("a miss is no hit, and hits of a replaced entry stay with its key") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    CHECK_FALSE(finds_sample(*store, 1));
    put_sample(*store, 1);
    CHECK(row_of(*store, 1).hits == 0);
    CHECK(finds_sample(*store, 1));
    put_sample(*store, 1);
    CHECK(row_of(*store, 1).hits == 1);
    REQUIRE(store->flush().is_ok());
    put_sample(*store, 1);
    CHECK(row_of(*store, 1).hits == 1);
  }

  TEST_CASE("hits of an entry that is gone leave nothing behind") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    put_sample(*store, 1);
    CHECK(finds_sample(*store, 1));
    RawDatabase raw(database_path(directory));
    raw.execute("DELETE FROM entries; DELETE FROM images");
    REQUIRE(store->flush().is_ok());
    CHECK(raw.integer("SELECT count(*) FROM usage") == 0);
  }

  TEST_CASE("counters add up over stores") {
    const TemporaryDirectory directory;
    {
      const auto store = open_store(directory.path());
      CHECK(store->counters()->size() == kCounters.size());
      CHECK(store->counters()->at(Counter::misses) == 0);
      store->count(Counter::misses, 3);
      store->count(Counter::compiles);
      CHECK(store->counters()->at(Counter::misses) == 3);
    }
    const auto store = open_store(directory.path());
    store->count(Counter::misses);
    CHECK(store->counters()->at(Counter::misses) == 4);
    CHECK(store->counters()->at(Counter::compiles) == 1);
    CHECK(open_store(directory.path(), StoreMode::inspect)->counters()->at(Counter::misses) == 3);
    const auto counters = store->counters();
    REQUIRE(counters.is_ok());
    for (const auto& [counter, value] : *counters)
      CHECK(counter_name(counter) != "unknown");
  }
}

}  // namespace
}  // namespace kiln::test
