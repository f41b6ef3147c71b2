// SPDX-License-Identifier: Apache-2.0
// Single entries that are not what was stored.
#include "cache/store.h"
#include "cache_fixture.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

namespace kiln::test {
namespace {

// The damaged entry is a miss, once; a new one takes its place.
void check_recovery(Store& store, std::uint32_t seed) {
  const std::int64_t before = store.counters()->at(Counter::recovered);
  bool recovered = false;
  CHECK_FALSE(finds_sample(store, seed, &recovered));
  CHECK(recovered);
  CHECK(store.counters()->at(Counter::recovered) == before + 1);
  CHECK_FALSE(finds_sample(store, seed, &recovered));
  CHECK_FALSE(recovered);
  put_sample(store, seed);
  CHECK(finds_sample(store, seed, &recovered));
  CHECK_FALSE(recovered);
  CHECK(store.counters()->at(Counter::recovered) == before + 1);
}

TEST_SUITE("Store faults") {
  TEST_CASE("a changed column of an entry is found and the entry dropped") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    RawDatabase raw(database_path(directory));
    put_sample(*store, 2);
    const auto columns = raw.column("SELECT name FROM pragma_table_info('entries')");
    CHECK(columns.size() == 20);
    for (const std::string& column : columns) {
      if (column == "key") continue;  // below
      CAPTURE(column);
      put_sample(*store, 1);
      const std::string where = fmt::format("WHERE key = x'{}'", sample_facts(1).key.hex());
      const std::string type =
          raw.column(fmt::format("SELECT typeof({}) FROM entries {}", column, where)).front();
      const std::string changed = column == "target"  ? "'sm_80'"
                                  : type == "integer" ? column + " + 1000000"
                                  : type == "text"    ? column + " || ' '"
                                                      : "randomblob(32)";
      raw.execute(fmt::format("UPDATE entries SET {} = {} {}", column, changed, where));
      check_recovery(*store, 1);
      // Values that no writer writes at all.
      if (column == "id") continue;
      const std::string absurd = type == "integer" ? "9223372036854775807"
                                 : type == "text"  ? "printf('%.*c', 2000000, 'x')"
                                                   : "x'00'";
      raw.execute(fmt::format("UPDATE entries SET {} = {} {}", column, absurd, where));
      check_recovery(*store, 1);
    }
    bool recovered = false;
    CHECK(finds_sample(*store, 2, &recovered));
    CHECK_FALSE(recovered);
    CHECK(store->summary()->quarantined == 0);
  }

  TEST_CASE("an entry and an image under another key are refused") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    RawDatabase raw(database_path(directory));
    put_sample(*store, 1);
    raw.execute(fmt::format("UPDATE entries SET key = x'{}'", sample_facts(2).key.hex()));
    bool recovered = false;
    CHECK_FALSE(finds_sample(*store, 1, &recovered));
    CHECK_FALSE(recovered);
    check_recovery(*store, 2);

    put_sample(*store, 1);
    raw.set_image(sample_facts(1).key, raw.image(sample_facts(2).key));
    check_recovery(*store, 1);
    CHECK(finds_sample(*store, 2));
  }

  TEST_CASE("a damaged image is reported as a miss and dropped") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    RawDatabase raw(database_path(directory));
    const Digest key = sample_facts(1).key;
    put_sample(*store, 1);
    const std::string image = raw.image(key);
    const auto check_damage = [&](const std::string& damaged) {
      raw.set_image(key, damaged);
      check_recovery(*store, 1);
    };
    check_damage("");
    check_damage(image.substr(0, image.size() / 2));
    check_damage(image.substr(0, image.size() - 1));
    check_damage(image + "x");
    check_damage(std::string(image.size(), '\0'));
    for (const std::size_t percent : {0U, 10U, 50U, 90U}) {
      std::string damaged = image;
      char& byte = damaged[image.size() * percent / 100];
      byte = static_cast<char>(byte ^ 0x10);
      check_damage(damaged);
    }
    raw.execute("DELETE FROM images");
    check_recovery(*store, 1);
    raw.execute("UPDATE images SET entry = entry + 7");
    check_recovery(*store, 1);
  }

  TEST_CASE("an image larger than any that is stored is dropped without being read") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    RawDatabase raw(database_path(directory));
    put_sample(*store, 1);
    raw.execute("UPDATE images SET image = zeroblob(70000000)");
    check_recovery(*store, 1);
  }

  TEST_CASE("changed usage does not cost the entry") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    RawDatabase raw(database_path(directory));
    put_sample(*store, 1);
    CHECK(finds_sample(*store, 1));
    REQUIRE(store->flush().is_ok());
    for (const char* change : {"hits = -5", "last_used_at = 0", "pinned = 1", "key = x'00'"}) {
      raw.execute(fmt::format("UPDATE usage SET {}", change));
      bool recovered = false;
      CHECK(finds_sample(*store, 1, &recovered));
      CHECK_FALSE(recovered);
      CHECK(store->flush().is_ok());
      CHECK(store->list({})->size() == 1);
    }
  }

  TEST_CASE("of several entries for a request the newest sound one is found") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    RawDatabase raw(database_path(directory));
    const Digest shared = digest_of("shared");
    for (const std::uint32_t seed : {1U, 2U, 3U}) {
      EntryFacts facts = sample_facts(seed);
      facts.request = shared;
      REQUIRE(store->put(facts, sample_image(seed)).is_ok());
    }
    raw.set_image(sample_facts(3).key, "x");
    raw.execute("UPDATE entries SET registers = 1 WHERE spec LIKE 'template_2%'");
    bool recovered = true;
    auto found = store->find_request(shared, &recovered);
    REQUIRE(found.is_ok());
    REQUIRE(found->has_value());
    CHECK((*found)->image == sample_image(1));
    CHECK_FALSE(recovered);  // no miss
    CHECK(store->counters()->at(Counter::recovered) == 2);
    CHECK(store->summary()->entries == 1);
    raw.set_image(sample_facts(1).key, "x");
    found = store->find_request(shared, &recovered);
    REQUIRE(found.is_ok());
    CHECK_FALSE(found->has_value());
    CHECK(recovered);
    CHECK(raw.integer("SELECT count(*) FROM images") == 0);
  }

  TEST_CASE("damaged entries are warned about once") {
    const TemporaryDirectory directory;
    const LogCapture log;
    const auto store = open_store(directory.path());
    RawDatabase raw(database_path(directory));
    for (const std::uint32_t seed : {1U, 2U, 3U})
      put_sample(*store, seed);
    raw.execute("UPDATE images SET image = x'00'");
    for (const std::uint32_t seed : {1U, 2U, 3U})
      CHECK_FALSE(finds_sample(*store, seed));
    CHECK(log.warnings() == 1);
    CHECK(store->counters()->at(Counter::recovered) == 3);
  }

  TEST_CASE("looking at a damaged entry leaves it where it is") {
    const TemporaryDirectory directory;
    put_sample(*open_store(directory.path()), 1);
    RawDatabase raw(database_path(directory));
    raw.execute("UPDATE images SET image = x'00'");
    const auto store = open_store(directory.path(), StoreMode::inspect);
    bool recovered = true;
    CHECK_FALSE(finds_sample(*store, 1, &recovered));
    CHECK_FALSE(recovered);
    CHECK(raw.integer("SELECT count(*) FROM entries") == 1);
  }

  TEST_CASE("a damaged entry that cannot be dropped is still a miss") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    put_sample(*store, 1);
    RawDatabase raw(database_path(directory));
    raw.execute("UPDATE images SET image = x'00'");
    raw.execute("CREATE TRIGGER keep BEFORE DELETE ON images BEGIN SELECT raise(ABORT, 'no'); END");
    bool recovered = false;
    CHECK_FALSE(finds_sample(*store, 1, &recovered));
    CHECK(recovered);
  }
}

}  // namespace
}  // namespace kiln::test
