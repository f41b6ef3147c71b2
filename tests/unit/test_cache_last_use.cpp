// SPDX-License-Identifier: Apache-2.0
// What the indexes of time say must be what reading everything says.
#include "cache/last_use.h"
#include "cache_fixture.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <random>
#include <tuple>

namespace kiln::test {
namespace {

constexpr std::int64_t kNow = 1000;
constexpr std::uint32_t kEntries = 200;

struct Use {
  Digest key;
  std::int64_t id = 0;
  std::int64_t created_at = 0;
  std::int64_t used_at = 0;
  std::int64_t hits = 0;
  bool is_pinned = false;
};

// Few different times, some of them after kNow; half of the entries were never used. Some that are
// used are gone.
std::vector<Use> fill(Store& store, RawDatabase& raw, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](int end) { return static_cast<std::int64_t>(random()) % end; };
  std::vector<Use> uses;
  for (std::uint32_t i = 0; i < kEntries; ++i) {
    EntryFacts facts = sample_facts(i, 1);
    facts.created_at = 1 + below(kNow + 200) / 10 * 10;
    REQUIRE(store.put(facts, "i").is_ok());
    Use use{.key = facts.key, .id = i + 1, .created_at = facts.created_at};
    if (random() % 2 == 0) {
      use.used_at = random() % 8 == 0 ? 0 : 1 + below(kNow + 200) / 10 * 10;
      use.hits = below(3);
      use.is_pinned = random() % 8 == 0;
      raw.execute(fmt::format("INSERT INTO usage VALUES (x'{}', {}, {}, {})", use.key.hex(),
                              use.hits, use.used_at, use.is_pinned ? 1 : 0));
    }
    uses.push_back(use);
  }
  raw.execute(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) "
      "INSERT INTO usage SELECT randomblob(32), 1, i * 20, 0 FROM n");
  return uses;
}

std::vector<Digest> expected_least(std::vector<Use> uses) {
  std::erase_if(uses, [](const Use& use) { return use.is_pinned; });
  const auto rank = [](const Use& use) {
    const bool is_use_alone = use.created_at > kNow && use.used_at > 0;
    const std::int64_t last = is_use_alone ? use.used_at : std::max(use.used_at, use.created_at);
    return std::tuple(std::min(last, kNow), last, use.hits, use.id);
  };
  std::sort(uses.begin(), uses.end(),
            [&](const Use& left, const Use& right) { return rank(left) < rank(right); });
  std::vector<Digest> keys;
  for (const Use& use : uses)
    keys.push_back(use.key);
  return keys;
}

TEST_SUITE("Last use") {
  TEST_CASE("what was not used for the longest time comes first, however little is asked for") {
    for (std::uint32_t seed = 0; seed < 5; ++seed) {
      CAPTURE(seed);
      const TemporaryDirectory directory;
      const auto store = open_store(directory.path());
      RawDatabase raw(database_path(directory));
      const std::vector<Digest> all = expected_least(fill(*store, raw, seed));
      const auto connection =
          Connection::open(database_path(directory), Connection::Access::read_only);
      REQUIRE(connection.is_ok());
      for (const std::size_t most : {std::size_t{1}, std::size_t{20}, all.size(), 2 * all.size()}) {
        CAPTURE(most);
        const auto candidates = least_recently_used(**connection, kNow, most);
        REQUIRE(candidates.is_ok());
        REQUIRE(candidates->size() == std::min(most, all.size()));
        for (std::size_t i = 0; i < candidates->size(); ++i)
          CHECK((*candidates)[i].key == all[i]);
      }
    }
  }

  TEST_CASE("the last used are those that a list of all has first, unwritten hits included") {
    for (std::uint32_t seed = 0; seed < 5; ++seed) {
      CAPTURE(seed);
      const TemporaryDirectory directory;
      const auto store = open_store(directory.path());
      RawDatabase raw(database_path(directory));
      const std::vector<Use> uses = fill(*store, raw, seed);
      for (const std::size_t used : {std::size_t{3}, std::size_t{50}})
        CHECK(store->find(uses[used].key)->has_value());
      const auto all = store->list({});
      REQUIRE(all->size() == kEntries);
      for (const std::int64_t limit : {0, 1, 2, 3, 20, 150, 500}) {
        CAPTURE(limit);
        const auto listed = store->list({.limit = limit});
        REQUIRE(listed.is_ok());
        REQUIRE(std::ssize(*listed) == std::min<std::int64_t>(limit, kEntries));
        for (std::size_t i = 0; i < listed->size(); ++i) {
          CHECK((*listed)[i].facts == (*all)[i].facts);
          CHECK((*listed)[i].hits == (*all)[i].hits);
          CHECK((*listed)[i].last_used_at == (*all)[i].last_used_at);
          CHECK((*listed)[i].is_pinned == (*all)[i].is_pinned);
        }
      }
    }
  }
}

}  // namespace
}  // namespace kiln::test
