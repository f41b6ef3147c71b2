// SPDX-License-Identifier: Apache-2.0
// Entries that leave a store on request.
#include "cache/store.h"
#include "cache_fixture.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <array>
#include <ctime>
#include <filesystem>
#include <functional>

namespace kiln::test {
namespace {

constexpr std::int64_t kDay = 86400;
constexpr std::uint32_t kEntries = 10;

// Entry n was created n days ago, the even ones for sm_80; number 9 is pinned.
std::unique_ptr<Store> filled_store(const TemporaryDirectory& directory,
                                    std::int64_t limit_bytes = kDefaultCacheLimitBytes) {
  const std::int64_t now = std::time(nullptr);
  {
    const auto store = open_store(directory.path());
    for (std::uint32_t seed = 0; seed < kEntries; ++seed) {
      EntryFacts facts = sample_facts(seed);
      facts.created_at = now - seed * kDay;
      facts.target = seed % 2 == 0 ? "sm_80" : "sm_90a";
      facts.toolchain = seed < 3 ? "nvrtc-12.4+a" : "nvrtc-13.0+b";
      REQUIRE(store->put(facts, sample_image(seed)).is_ok());
    }
    CHECK(*store->set_pinned(std::array{sample_facts(9).key}, true) == 1);
  }
  auto store = Store::open(directory.path(), StoreMode::read_write, limit_bytes);
  REQUIRE(store.is_ok());
  return std::move(*store);
}

std::string names(const std::vector<EntryRow>& rows) {
  std::string text;
  for (const EntryRow& row : rows)
    text += row.facts.template_name.substr(9);
  return text;
}

// What is pruned; a dry run has said the same and changed nothing.
std::string pruned(Store& store, const PruneQuery& query) {
  const std::int64_t before = store.summary()->entries;
  const auto planned = store.prune(query, true);
  INFO(planned.status().message());
  REQUIRE(planned.is_ok());
  CHECK(store.summary()->entries == before);
  const auto done = store.prune(query, false);
  INFO(done.status().message());
  REQUIRE(done.is_ok());
  CHECK(names(planned->entries) == names(done->entries));
  CHECK((done->freed_bytes > 0) == !done->entries.empty());
  CHECK((planned->freed_bytes > 0) == !done->entries.empty());
  CHECK(store.summary()->entries == before - std::ssize(done->entries));
  return names(done->entries);
}

TEST_SUITE("Store prune") {
  TEST_CASE("each criterion narrows, and what is pinned stays unless asked for") {
    const auto prunes = [](const PruneQuery& query) {
      const TemporaryDirectory directory;
      return pruned(*filled_store(directory), query);
    };
    CHECK(prunes({.unused_for_s = 6 * kDay}) == "876");
    CHECK(prunes({.unused_for_s = 6 * kDay, .include_pinned = true}) == "9876");
    CHECK(prunes({.template_name = "template_4"}) == "4");
    CHECK(prunes({.template_name = "template"}).empty());
    CHECK(prunes({.target = "sm_80"}) == "86420");
    CHECK(prunes({.toolchain_prefix = "nvrtc-12"}) == "210");
    CHECK(prunes({.unused_for_s = kDay, .target = "sm_80", .toolchain_prefix = "nvrtc-12"}) == "2");
    CHECK(prunes({.all = true}) == "876543210");
    CHECK(prunes({.all = true, .include_pinned = true}) == "9876543210");
    CHECK(prunes({}).empty());
  }

  TEST_CASE("to a size: the least recently used go, of those that match, until it is reached") {
    const TemporaryDirectory directory;
    const auto store = filled_store(directory);
    const std::int64_t size = store->summary()->file_bytes;
    const std::string gone = pruned(*store, {.to_bytes = size - 40000});
    CHECK(gone.size() > 1);
    CHECK(gone.size() < 6);
    CHECK(std::string("876543").starts_with(gone));
    CHECK(store->summary()->file_bytes <= size - 40000);
    std::string rest = "7531";
    std::erase_if(rest, [&](char name) { return gone.find(name) != std::string::npos; });
    CHECK(pruned(*store, {.target = "sm_90a", .to_bytes = 0}) == rest);
    CHECK(pruned(*store, {.to_bytes = size}).empty());
  }

  TEST_CASE("without a criterion the limit applies, as it does to a put") {
    const TemporaryDirectory directory;
    const auto store = filled_store(directory, 150000);
    CHECK(store->summary()->file_bytes > 150000);
    const std::string gone = pruned(*store, {});
    CHECK(std::string("876543210").starts_with(gone));
    CHECK(store->summary()->file_bytes <= 135000);
    CHECK(pruned(*store, {}).empty());
  }

  TEST_CASE("the file shrinks by what is said to be freed, and the log is emptied") {
    const TemporaryDirectory directory;
    const auto store = filled_store(directory);
    const auto before = store->summary();
    const auto done = store->prune({.all = true, .include_pinned = true}, false);
    REQUIRE(done.is_ok());
    const auto after = store->summary();
    CHECK(after->log_bytes == 0);
    CHECK(after->file_bytes < 80000);
    CHECK(before->file_bytes - before->log_bytes - after->file_bytes == done->freed_bytes);
    RawDatabase raw(database_path(directory));
    CHECK(raw.integer("SELECT count(*) FROM usage") == 0);
    CHECK(raw.column("PRAGMA integrity_check").front() == "ok");
  }

  TEST_CASE("use counts, written or not") {
    const TemporaryDirectory directory;
    const auto store = filled_store(directory);
    CHECK(store->find(sample_facts(8).key)->has_value());
    CHECK(pruned(*store, {.unused_for_s = 6 * kDay}) == "76");
    CHECK(pruned(*store, {.all = true}) == "543210" + std::string("8"));
  }

  TEST_CASE("a quarantined database goes with everything, or when it is too much") {
    for (const PruneQuery& query : {PruneQuery{.all = true}, PruneQuery{.to_bytes = 300000}}) {
      const TemporaryDirectory directory;
      const auto store = filled_store(directory);
      const std::string quarantine = directory.file("store-v1.quarantine.db");
      write_text(quarantine, std::string(200000, 'x'));
      CHECK(store->prune({.unused_for_s = 100 * kDay}, false)->freed_bytes == 0);
      CHECK(store->prune(query, true)->freed_bytes >= 200000);
      CHECK(exists(quarantine));
      const auto done = store->prune(query, false);
      REQUIRE(done.is_ok());
      CHECK(done->freed_bytes >= 200000);
      CHECK(done->entries.empty() == !query.all);
      CHECK_FALSE(exists(quarantine));
    }
  }

  TEST_CASE("a store that is only looked at tells what would go, and gives nothing away") {
    const TemporaryDirectory directory;
    { filled_store(directory); }
    const auto store = open_store(directory.path(), StoreMode::inspect);
    CHECK(store->prune({.all = true}, true)->entries.size() == kEntries - 1);
    CHECK(store->prune({.all = true}, false).status().code() == Code::invalid_argument);
    CHECK(store->set_pinned(std::array{sample_facts(1).key}, true).status().code() ==
          Code::invalid_argument);
    const TemporaryDirectory absent;
    const auto nothing = open_store(absent.path(), StoreMode::inspect)->prune({}, true);
    REQUIRE(nothing.is_ok());
    CHECK(nothing->entries.empty());
    CHECK(nothing->freed_bytes == 0);
    CHECK(std::filesystem::is_empty(absent.path()));
  }

  TEST_CASE("a query that contradicts itself is refused") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    for (const PruneQuery& query :
         {PruneQuery{.target = "sm_80", .all = true}, PruneQuery{.to_bytes = 1, .all = true},
          PruneQuery{.unused_for_s = -1}, PruneQuery{.to_bytes = -1}}) {
      CHECK(store->prune(query, false).status().code() == Code::invalid_argument);
    }
  }
}

}  // namespace
}  // namespace kiln::test
