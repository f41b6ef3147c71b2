// SPDX-License-Identifier: Apache-2.0
#include "cache/store.h"
#include "cache_fixture.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <sys/stat.h>

#include <filesystem>
#include <thread>

namespace kiln::test {
namespace {

std::vector<std::string> specs(Store& store, const EntryQuery& query) {
  const auto rows = store.list(query);
  REQUIRE(rows.is_ok());
  std::vector<std::string> result;
  for (const EntryRow& row : *rows)
    result.push_back(row.facts.spec.substr(9, 1));
  return result;
}

std::string order_of(Store& store, const EntryQuery& query) {
  std::string text;
  for (const std::string& spec : specs(store, query))
    text += spec;
  return text;
}

TEST_SUITE("Store") {
  TEST_CASE("an entry is found by key and by request, in this store and the next") {
    const TemporaryDirectory directory;
    {
      const auto store = open_store(directory.path());
      CHECK_FALSE(finds_sample(*store, 1));
      put_sample(*store, 1);
      CHECK(finds_sample(*store, 1));
      CHECK_FALSE(finds_sample(*store, 2));
    }
    const auto store = open_store(directory.path());
    bool recovered = true;
    CHECK(finds_sample(*store, 1, &recovered));
    CHECK_FALSE(recovered);
    const auto found = store->find_request(sample_facts(1).request);
    REQUIRE(found.is_ok());
    REQUIRE(found->has_value());
    CHECK((*found)->facts == sample_facts(1));
    CHECK((*found)->image == sample_image(1));
    CHECK_FALSE(store->find_request(sample_facts(1).key)->has_value());
  }

  TEST_CASE("a put replaces the entry of the same key") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    put_sample(*store, 1);
    EntryFacts facts = sample_facts(1, 5);
    facts.lowered_name = "other";
    REQUIRE(store->put(facts, "image").is_ok());
    const auto found = store->find(facts.key);
    REQUIRE(found.is_ok());
    REQUIRE(found->has_value());
    CHECK((*found)->facts == facts);
    CHECK((*found)->image == "image");
    CHECK(store->summary()->entries == 1);
    CHECK(store->summary()->image_bytes == 5);
  }

  TEST_CASE("the newest entry of a request is found, whoever compiled it") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    for (const std::uint32_t seed : {2U, 3U, 1U}) {
      EntryFacts facts = sample_facts(seed);
      facts.request = digest_of("shared");
      REQUIRE(store->put(facts, sample_image(seed)).is_ok());
    }
    const auto found = store->find_request(digest_of("shared"));
    REQUIRE(found.is_ok());
    REQUIRE(found->has_value());
    CHECK((*found)->facts.key == sample_facts(3).key);
    CHECK((*found)->image == sample_image(3));
  }

  TEST_CASE("names of 4 KB with quotes, newlines, NUL and UTF-8 come back unchanged") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    std::string name = "'; DROP TABLE entries; --\n\"../..\\%_\xC3\xA4";
    name.push_back('\0');
    name += std::string(4096, 'x') + "\xFF\xFE";
    EntryFacts facts = sample_facts(1, 1);
    facts.template_name = facts.spec = facts.lowered_name = facts.log = facts.key_fields = name;
    REQUIRE(store->put(facts, "i").is_ok());
    const auto found = store->find(facts.key);
    REQUIRE(found.is_ok());
    REQUIRE(found->has_value());
    CHECK((*found)->facts == facts);
    const auto rows = store->list({.template_name = name});
    REQUIRE(rows.is_ok());
    REQUIRE(rows->size() == 1);
    CHECK(rows->front().facts == facts);
    CHECK(store->list({.template_name = "'"})->empty());
  }

  TEST_CASE("an empty image and empty facts can be stored") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    REQUIRE(store->put(EntryFacts{}, "").is_ok());
    const auto found = store->find(Digest{});
    REQUIRE(found.is_ok());
    REQUIRE(found->has_value());
    CHECK((*found)->facts == EntryFacts{});
  }

  TEST_CASE("what is too large or contradicts itself is refused before anything is written") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    CHECK(store->put(sample_facts(1, 3), "1234").code() == Code::invalid_argument);
    EntryFacts facts = sample_facts(1, 1);
    facts.log.assign((1U << 20U) + 1, 'x');
    CHECK(store->put(facts, "1").code() == Code::invalid_argument);
    const std::string large((64U << 20U) + 1, 'x');
    CHECK_FALSE(store->put(sample_facts(1, large.size()), large).is_ok());
    CHECK(store->summary()->entries == 0);
  }

  TEST_CASE("the largest image can be stored, even if it does not compress") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    std::string image(64U << 20U, '\0');
    std::uint64_t state = 1;
    for (std::size_t i = 0; i + 8 <= image.size(); i += 8) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      const std::uint64_t mixed = state ^ (state >> 29U);
      std::memcpy(&image[i], &mixed, 8);
    }
    REQUIRE(store->put(sample_facts(1, image.size()), image).is_ok());
    const auto found = store->find(sample_facts(1).key);
    REQUIRE(found.is_ok());
    REQUIRE(found->has_value());
    CHECK(sha256((*found)->image) == sha256(image));
  }

  TEST_CASE("a listing is filtered, ordered and limited") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    // Columns: created, image bytes, compile time, registers; largest first: b a c, …
    const auto put = [&](std::uint32_t seed, std::int64_t created, std::size_t bytes,
                         std::int64_t compile_us, std::int32_t registers) {
      EntryFacts facts = sample_facts(seed, bytes);
      facts.created_at = created;
      facts.compile_us = compile_us;
      facts.resources.registers = registers;
      facts.target = seed == 2 ? "sm_80" : "sm_90a";
      REQUIRE(store->put(facts, sample_image(seed, bytes)).is_ok());
    };
    put(1, 100, 30, 7, 20);
    put(2, 300, 10, 9, 40);
    put(3, 200, 20, 8, 10);
    CHECK(order_of(*store, {.order = EntryOrder::spec}) == "123");
    CHECK(order_of(*store, {.order = EntryOrder::created}) == "231");
    CHECK(order_of(*store, {.order = EntryOrder::last_used}) == "231");
    CHECK(order_of(*store, {.order = EntryOrder::image_bytes}) == "132");
    CHECK(order_of(*store, {.order = EntryOrder::compile_us}) == "231");
    CHECK(order_of(*store, {.order = EntryOrder::registers}) == "213");
    CHECK(order_of(*store, {.order = EntryOrder::created, .limit = 2}) == "23");
    CHECK(order_of(*store, {.limit = 0}).empty());
    CHECK(order_of(*store, {.template_name = "template_3"}) == "3");
    CHECK(order_of(*store, {.target = "sm_90a", .order = EntryOrder::spec}) == "13");
    const std::string key = sample_facts(2).key.hex();
    CHECK(order_of(*store, {.key_prefix = key}) == "2");
    CHECK(order_of(*store, {.key_prefix = key.substr(0, 7)}) == "2");
    CHECK(order_of(*store, {.key_prefix = ""}).size() == 3);
    CHECK(store->list({.key_prefix = "xyz"}).status().code() == Code::invalid_argument);
    CHECK(store->list({.key_prefix = key + "0"}).status().code() == Code::invalid_argument);
    CHECK(store->list({.limit = -1}).status().code() == Code::invalid_argument);
    const auto rows = store->list({.template_name = "template_1"});
    CHECK(rows->front().facts.image_bytes == 30);
    CHECK(rows->front().stored_bytes > 0);
    CHECK(rows->front().last_used_at == 100);
  }

  TEST_CASE("files are the caller's alone from the start") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    put_sample(*store, 1);
    int files = 0;
    for (const auto& file : std::filesystem::directory_iterator(directory.path())) {
      struct stat status {};
      REQUIRE(::stat(file.path().c_str(), &status) == 0);
      CAPTURE(file.path());
      CHECK((status.st_mode & 07777U) == 0600);
      ++files;
    }
    CHECK(files == 4);  // database, log, index, lock
  }

  TEST_CASE("the database carries its identity and settings") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    RawDatabase raw(database_path(directory));
    CHECK(raw.integer("PRAGMA application_id") == 0x4B494C4E);
    CHECK(raw.integer("PRAGMA user_version") == kStoreSchema);
    CHECK(raw.integer("PRAGMA auto_vacuum") == 2);
    CHECK(raw.column("PRAGMA journal_mode").front() == "wal");
    CHECK(raw.integer("SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND "
                      "name NOT LIKE 'sqlite%' AND strict = 0") == 0);
    CHECK(store->summary()->journal_mode == "wal");
  }

  TEST_CASE("an existing store is opened without the lock") {
    const TemporaryDirectory directory;
    { put_sample(*open_store(directory.path()), 1); }
    std::filesystem::remove(directory.file("store-v1.lock"));
    {
      const auto store = open_store(directory.path());
      CHECK(finds_sample(*store, 1));
    }
    CHECK_FALSE(exists(directory.file("store-v1.lock")));
  }

  TEST_CASE("leftovers of a creator that was killed are of no consequence") {
    const TemporaryDirectory directory;
    write_text(directory.file("store-v1.new.db"), "half a database");
    write_text(directory.file("store-v1.db-wal"), "the log of something else");
    const auto store = open_store(directory.path());
    put_sample(*store, 1);
    CHECK(finds_sample(*store, 1));
    CHECK_FALSE(exists(directory.file("store-v1.new.db")));
    CHECK(store->summary()->quarantined == 0);
  }

  TEST_CASE("toolchain memos are kept by path") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    ToolchainMemo memo{.path = "/b/libnvrtc.so",
                       .device = -1,
                       .inode = INT64_MAX,
                       .size = 3,
                       .mtime_ns = 4,
                       .toolchain = "one"};
    REQUIRE(store->put_toolchain_memo(memo).is_ok());
    memo.toolchain = "two";
    REQUIRE(store->put_toolchain_memo(memo).is_ok());
    REQUIRE(store->put_toolchain_memo({"/a", 1, 2, 3, 4, "three"}).is_ok());
    const auto memos = store->toolchain_memos();
    REQUIRE(memos.is_ok());
    REQUIRE(memos->size() == 2);
    CHECK(memos->at(0).path == "/a");
    CHECK(memos->at(1).toolchain == "two");
    CHECK(memos->at(1).device == -1);
    CHECK(memos->at(1).inode == INT64_MAX);
    CHECK(memos->at(1).size == 3);
    CHECK(memos->at(1).mtime_ns == 4);
  }

  TEST_CASE("one store serves eight threads") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (std::uint32_t thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::uint32_t i = 0; i < 20; ++i) {
          const std::uint32_t seed = (thread + i) % 10;
          const EntryFacts facts = sample_facts(seed, 500);
          if (!store->put(facts, sample_image(seed, 500)).is_ok()) ++failures;
          const auto found = store->find(facts.key);
          if (!found.is_ok() || !*found || (*found)->facts != facts) ++failures;
          if (!store->list({.limit = 3}).is_ok()) ++failures;
          store->count(Counter::compiles);
          if (i % 7 == 0 && !store->flush().is_ok()) ++failures;
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    CHECK(failures == 0);
    CHECK(store->summary()->entries == 10);
    CHECK(store->counters()->at(Counter::compiles) == 160);
    CHECK(store->counters()->at(Counter::recovered) == 0);
  }
}

}  // namespace
}  // namespace kiln::test
