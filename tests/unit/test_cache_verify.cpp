// SPDX-License-Identifier: Apache-2.0
// Verifying a store whose rows are not what was stored.
#include "cache/store.h"
#include "cache_fixture.h"
#include "jit/key.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <functional>
#include <map>

namespace kiln::test {
namespace {

constexpr std::uint32_t kEntries = 3;

void put_keyed(Store& store, std::uint32_t seed) {
  const Status status = store.put(keyed_facts(seed), sample_image(seed));
  INFO(status.message());
  REQUIRE(status.is_ok());
}

void fill(Store& store) {
  for (std::uint32_t seed = 0; seed < kEntries; ++seed)
    put_keyed(store, seed);
}

bool finds_keyed(Store& store, std::uint32_t seed) {
  const auto found = store.find(keyed_facts(seed).key);
  REQUIRE(found.is_ok());
  return found->has_value() && (*found)->image == sample_image(seed);
}

Store::Verification verify(Store& store, bool repair) {
  const auto verification = store.verify(repair);
  INFO(verification.status().message());
  REQUIRE(verification.is_ok());
  return *verification;
}

std::string of_sample(std::uint32_t seed) {
  return fmt::format("WHERE key = x'{}'", keyed_facts(seed).key.hex());
}

// The one damaged entry is named for that reason, by looking and by repairing, which drops it and
// nothing else; then there is nothing more to say.
void check_damaged_entry(const TemporaryDirectory& directory, std::string_view reason) {
  const std::string before = read_text(database_path(directory));
  const auto seen = verify(*open_store(directory.path(), StoreMode::inspect), false);
  CHECK(seen.exists);
  CHECK(seen.entries == kEntries);
  CHECK(seen.damaged_entries == 1);
  CHECK(seen.database_errors.empty());
  CHECK(seen.dropped_rows == 0);
  REQUIRE(seen.damage.size() == 1);
  const Store::Damage& damage = seen.damage.front();
  CHECK(damage.table == "entries");
  CHECK_FALSE(damage.is_dropped);
  INFO(damage.reason);
  CHECK(damage.reason.find(reason) != std::string::npos);
  CHECK(read_text(database_path(directory)) == before);

  const auto store = open_store(directory.path());
  CHECK(verify(*store, false).damaged_rows == 1);
  const auto repaired = verify(*store, true);
  CHECK(repaired.damaged_entries == 1);
  CHECK(repaired.dropped_rows == 1);
  CHECK_FALSE(repaired.is_quarantined);
  REQUIRE(repaired.damage.size() == 1);
  CHECK(repaired.damage.front().is_dropped);
  CHECK(repaired.damage.front().row == damage.row);
  CHECK(store->counters()->at(Counter::recovered) == 1);
  const auto after = verify(*store, true);
  CHECK(after.is_sound());
  CHECK(after.entries == kEntries - 1);
  RawDatabase raw(database_path(directory));
  CHECK(raw.integer("SELECT count(*) FROM images") == kEntries - 1);
  CHECK(finds_keyed(*store, 0));
  CHECK(finds_keyed(*store, 2));
}

// Closes the store before the damage is done.
void check_forged(std::string_view reason, const std::function<void(RawDatabase&)>& forge) {
  const TemporaryDirectory directory;
  { fill(*open_store(directory.path())); }
  {
    RawDatabase raw(database_path(directory));
    forge(raw);
  }
  check_damaged_entry(directory, reason);
}

TEST_SUITE("Store verify") {
  TEST_CASE("a store as it was written is sound") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    fill(*store);
    CHECK(finds_keyed(*store, 1));
    REQUIRE(store->flush().is_ok());
    for (const bool repair : {false, true}) {
      const auto verification = verify(*store, repair);
      CHECK(verification.exists);
      CHECK(verification.is_sound());
      CHECK(verification.entries == kEntries);
      CHECK(verification.dropped_rows == 0);
    }
    CHECK(store->counters()->at(Counter::recovered) == 0);
  }

  TEST_CASE("an absent store is sound, has no entries and is not created") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path(), StoreMode::inspect);
    const auto verification = verify(*store, false);
    CHECK_FALSE(verification.exists);
    CHECK(verification.is_sound());
    CHECK(verification.entries == 0);
    CHECK_FALSE(exists(database_path(directory)));
    CHECK(store->verify(true).status().code() == Code::invalid_argument);
  }

  TEST_CASE("a changed fact is named") {
    const std::map<std::string, std::string> changes = {
        {"target = 'sm_80'", "target is \"sm_80\"; the key fields say \"sm_90a\""},
        {"target = 'nonsense'", "target is \"nonsense\""},
        {"template_name = 'x'", "template_name is \"x\""},
        {"toolchain = ''", "toolchain is \"\""},
        {"request = zeroblob(32)", "request is "},
        {"request = x'00'", "request has 1 bytes"},
        {"key = x'00'", "key has 1 bytes"},
        {"key = zeroblob(32)", "key is "},
        {"entry_sha256 = zeroblob(32)", "entry_sha256"},
        {"entry_sha256 = x''", "entry_sha256 has 0 bytes"},
        {"spec = spec || ' '", "entry_sha256"},
        {"spec = printf('%.*c', 2000000, 'x')", "spec has 2000000 bytes"},
        {"lowered_name = ''", "entry_sha256"},
        {"layout = '[]'", "entry_sha256"},
        {"log = ''", "entry_sha256"},
        {"registers = 1", "entry_sha256"},
        {"registers = 9223372036854775807", "registers is 9223372036854775807"},
        {"shared_bytes = 1", "entry_sha256"},
        {"local_bytes = 1", "entry_sha256"},
        {"spill_store_bytes = 1", "entry_sha256"},
        {"spill_load_bytes = 1", "entry_sha256"},
        {"compile_us = 1", "entry_sha256"},
        {"created_at = 1", "entry_sha256"},
        {"image_bytes = 9223372036854775807", "entry_sha256"},
        {"key_fields = x'00'", "key_fields: 1 bytes are not one zstd frame"},
    };
    for (const auto& [change, reason] : changes) {
      CAPTURE(change);
      check_forged(reason, [&](RawDatabase& raw) {
        raw.execute("UPDATE entries SET " + change + " " + of_sample(1));
      });
    }
    std::string other_standard = keyed_facts(1).key_fields;
    other_standard.replace(other_standard.find("c++17"), 5, "c++20");
    const std::map<std::string, std::string> key_fields = {
        {"{}", "schema number"}, {"x", "no JSON"}, {other_standard, "key is "}};
    for (const auto& [text, reason] : key_fields) {
      CAPTURE(text);
      check_forged(reason, [&](RawDatabase& raw) { raw.set_key_fields(keyed_facts(1).key, text); });
    }
  }

  TEST_CASE("an image that is not the entry's is named") {
    const Digest key = keyed_facts(1).key;
    const auto check_image = [&](std::string_view reason,
                                 const std::function<std::string(std::string)>& change) {
      check_forged(reason, [&](RawDatabase& raw) { raw.set_image(key, change(raw.image(key))); });
    };
    for (const std::size_t percent : {10U, 50U, 90U}) {
      CAPTURE(percent);
      check_image("entry_sha256", [&](std::string image) {
        char& byte = image[image.size() * percent / 100];
        byte = static_cast<char>(byte ^ 0x10);
        return image;
      });
    }
    check_image("0 bytes", [](const std::string&) { return std::string(); });
    check_image("entry_sha256",
                [](const std::string& image) { return image.substr(0, image.size() / 2); });
    check_forged("entry_sha256",
                 [&](RawDatabase& raw) { raw.set_image(key, raw.image(keyed_facts(2).key)); });
    check_forged("no image", [&](RawDatabase& raw) {
      raw.execute("DELETE FROM images WHERE entry = (SELECT id FROM entries " + of_sample(1) + ")");
    });
  }

  TEST_CASE("an image larger than any that is stored is named without being read") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    put_keyed(*store, 0);
    RawDatabase(database_path(directory)).execute("UPDATE images SET image = zeroblob(70000000)");
    const auto repaired = verify(*store, true);
    CHECK(repaired.dropped_rows == 1);
    REQUIRE(repaired.damage.size() == 1);
    CHECK(repaired.damage.front().reason == "the image is larger than any that is stored");
    CHECK_FALSE(repaired.is_quarantined);
  }

  TEST_CASE("what was stored with a digest that is right is checked too") {
    const auto check_stored = [](std::string_view reason,
                                 const std::function<void(EntryFacts&)>& change) {
      const TemporaryDirectory directory;
      EntryFacts facts = keyed_facts(1);
      change(facts);
      {
        const auto store = open_store(directory.path());
        put_keyed(*store, 0);
        put_keyed(*store, 2);
        REQUIRE(store->put(facts, sample_image(1)).is_ok());
      }
      check_damaged_entry(directory, reason);
    };
    check_stored("key is ", [](EntryFacts& facts) { facts.key = digest_of("another"); });
    check_stored("request is ", [](EntryFacts& facts) { facts.request = digest_of("another"); });
    check_stored("target is ", [](EntryFacts& facts) { facts.target = "sm_80"; });
    check_stored("layout", [](EntryFacts& facts) { facts.layout = "[[0]]"; });
    check_stored("stored target \"sm_9\" is unknown", [](EntryFacts& facts) {
      KeyFields fields = *KeyFields::from_json(facts.key_fields);
      facts.target = fields.target = "sm_9";
      facts.key = fields.key();
      facts.request = fields.request();
      facts.key_fields = fields.to_json();
    });
  }

  TEST_CASE("an entry whose key is of another key schema is not damaged") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    EntryFacts facts = keyed_facts(1);
    facts.key_fields = R"({"schema":1000,"more":true})";
    REQUIRE(store->put(facts, sample_image(1)).is_ok());
    CHECK(verify(*store, true).is_sound());
    CHECK(finds_keyed(*store, 1));
  }

  TEST_CASE("an image without an entry is named and removed") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    fill(*store);
    RawDatabase raw(database_path(directory));
    raw.execute("INSERT INTO images VALUES (77, x'00'), (9223372036854775807, x'00'), (-5, x'00')");
    const auto seen = verify(*store, false);
    CHECK(seen.damaged_rows == 3);
    CHECK(seen.damaged_entries == 0);
    REQUIRE(seen.damage.size() == 3);
    CHECK(seen.damage[1].table == "images");
    CHECK(seen.damage[1].row == 77);
    CHECK(raw.integer("SELECT count(*) FROM images") == kEntries + 3);
    CHECK(verify(*store, true).dropped_rows == 3);
    CHECK(raw.integer("SELECT count(*) FROM images") == kEntries);
    CHECK(verify(*store, true).is_sound());
    CHECK(store->counters()->at(Counter::recovered) == 0);  // no entry was lost
  }

  TEST_CASE("rows of use and verdicts that make no sense are named and removed") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    fill(*store);
    RawDatabase raw(database_path(directory));
    raw.execute("INSERT INTO usage VALUES (x'00', 1, 1, 0), (zeroblob(32), 1, 1, 1)");
    for (const char* values : {"1, -1, 1, 0", "2, 1, -1, 0", "3, 1, 1, 2"}) {
      const std::string text = values;
      raw.execute(fmt::format("INSERT INTO usage VALUES (CAST(printf('%032d', {}) AS BLOB){})",
                              text.front(), text.substr(1)));
    }
    for (const char* values : {"'sound', 10, 2, 5", "'a', -1, 0, 5", "'b', 10, 11, 5",
                               "'c', 10, -1, 5", "'d', 10, 0, -5"}) {
      const std::string text = values;
      raw.execute(fmt::format("INSERT INTO verdicts VALUES (zeroblob(32), {}, 'd', 'o', 'r'{})",
                              text.substr(0, text.find(',')), text.substr(text.find(','))));
    }
    const auto seen = verify(*store, false);
    CHECK(seen.damaged_rows == 8);
    CHECK(seen.damaged_entries == 0);
    REQUIRE(seen.damage.size() == 8);
    CHECK(seen.damage[0].table == "usage");
    CHECK(seen.damage[0].reason == "key has 1 bytes; a digest has 32");
    CHECK(seen.damage[7].table == "verdicts");
    CHECK(verify(*store, true).dropped_rows == 8);
    CHECK(raw.integer("SELECT count(*) FROM usage") == 1);
    CHECK(raw.integer("SELECT count(*) FROM verdicts") == 1);
    CHECK(verify(*store, false).is_sound());
  }
}

}  // namespace
}  // namespace kiln::test
