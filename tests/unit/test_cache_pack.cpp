// SPDX-License-Identifier: Apache-2.0
// Packs that are sound: made, opened wherever they are, and copied into a store.
#include "cache/pack_import.h"
#include "key_fixture.h"
#include "pack_fixture.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

TEST_SUITE("Pack") {
  TEST_CASE("has what the store had, by key and by request") {
    const TemporaryDirectory directory;
    const std::string path = make_pack(directory, "a.kpack", {1, 2, 3});
    const auto pack = open_pack(path);
    REQUIRE_MESSAGE(pack.is_ok(), pack.status().message());
    for (const std::uint32_t seed : {1U, 2U, 3U}) {
      CHECK(has_sample(**pack, seed));
      CHECK(has_sample(**pack, seed, LookUp::request));
    }
    CHECK_FALSE(has_sample(**pack, 4));
    const auto summary = (*pack)->summary();
    CHECK(summary->entries == 3);
    CHECK(summary->unsigned_entries == 3);
    CHECK(summary->signed_by.empty());
    CHECK((*pack)->verify()->is_sound());
    // A file alone, of the mode that the umask leaves, and nothing beside it.
    CHECK(std::distance(fs::directory_iterator(directory.path()), {}) == 1);
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U & ~0644U) == 0);
    CHECK((status.st_mode & 0600U) == 0600U);
    CHECK(RawDatabase(path).column("PRAGMA journal_mode").front() == "delete");
  }

  TEST_CASE("the same entries give the same bytes and the same name, others another") {
    const TemporaryDirectory directory;
    CHECK(read_text(make_pack(directory, "a.kpack", {1, 2, 3})) ==
          read_text(make_pack(directory, "b.kpack", {3, 1, 2})));
    const auto store = open_store(directory.path());
    std::vector<Digest> keys;
    std::vector<std::string> names;
    for (const std::uint32_t seed : {1U, 2U}) {
      REQUIRE(store->put(keyed_facts(seed), sample_image(seed)).is_ok());
      keys.push_back(keyed_facts(seed).key);
      for (int i = 0; i < 2; ++i) {
        const auto written =
            write_pack(*store, {.directory = directory.path(), .keys = keys, .may_replace = true});
        REQUIRE(written.is_ok());
        names.push_back(written->path);
      }
    }
    CHECK(names[0] == names[1]);
    CHECK(names[2] == names[3]);
    CHECK(names[0] != names[2]);
  }

  TEST_CASE("a name that is taken is replaced only if asked for, and nothing is left behind") {
    const TemporaryDirectory directory;
    const std::string path = make_pack(directory, "a.kpack", {1});
    const std::string before = read_text(path);
    const TemporaryDirectory other;
    const auto store = open_store(other.path());
    REQUIRE(store->put(keyed_facts(2), sample_image(2)).is_ok());
    PackRequest request{.directory = directory.path(), .name = "a.kpack", .keys = {}};
    CHECK(write_pack(*store, request).status().code() == Code::not_found);
    request.keys = {keyed_facts(2).key, keyed_facts(3).key};
    CHECK(write_pack(*store, request).status().code() == Code::invalid_argument);
    CHECK(read_text(path) == before);
    request.may_replace = true;
    const auto written = write_pack(*store, request);
    CHECK(written->entries == 1);
    CHECK(written->left_out == 1);
    CHECK(has_sample(**open_pack(path), 2));
    CHECK(std::distance(fs::directory_iterator(directory.path()), {}) == 1);
    request.directory = directory.file("absent");
    CHECK(write_pack(*store, request).status().code() == Code::io);
  }

  TEST_CASE("a damaged entry of the store is left out") {
    const TemporaryDirectory directory;
    const auto store = open_store(directory.path());
    std::vector<Digest> keys;
    for (const std::uint32_t seed : {1U, 2U}) {
      REQUIRE(store->put(keyed_facts(seed), sample_image(seed)).is_ok());
      keys.push_back(keyed_facts(seed).key);
    }
    RawDatabase(database_path(directory)).set_image(keys[0], "damage");
    const auto written = write_pack(*store, {.directory = directory.path(), .keys = keys});
    REQUIRE(written.is_ok());
    CHECK(written->entries == 1);
    CHECK(written->left_out == 1);
    const auto pack = open_pack(written->path);
    CHECK_FALSE(has_sample(**pack, 1));
    CHECK(has_sample(**pack, 2));
    // To read for a copy is no use of the entry.
    CHECK(store->list({})->front().hits == 0);
  }

  TEST_CASE("works in a read-only directory, for another user, under any name") {
    const TemporaryDirectory directory;
    REQUIRE(::chmod(directory.path().c_str(), 0755) == 0);
    const std::string place = directory.file("a b?%#\xC3\xA4&mode=rw");
    REQUIRE(fs::create_directory(place));
    const std::string path = place + "/c d?immutable=0%41.kpack";
    fs::rename(make_pack(directory, "a.kpack", {1}), path);
    REQUIRE(::chmod(path.c_str(), 0444) == 0);
    REQUIRE(::chmod(place.c_str(), 0555) == 0);
    CHECK(in_child([&] {
            if (::geteuid() == 0) REQUIRE(::setuid(65534) == 0);
            const auto pack = open_pack(path);
            REQUIRE_MESSAGE(pack.is_ok(), pack.status().message());
            CHECK(has_sample(**pack, 1));
          }) == 0);
    CHECK(std::distance(fs::directory_iterator(place), {}) == 1);
    REQUIRE(::chmod(place.c_str(), 0755) == 0);
  }

  TEST_CASE("one that is replaced by renaming goes on for those who have it open") {
    const TemporaryDirectory directory;
    const std::string path = make_pack(directory, "a.kpack", {1});
    const auto old_pack = open_pack(path);
    REQUIRE(old_pack.is_ok());
    make_pack(directory, "a.kpack", {2});
    const auto new_pack = open_pack(path);
    CHECK(has_sample(**old_pack, 1));
    CHECK_FALSE(has_sample(**old_pack, 2));
    CHECK(has_sample(**new_pack, 2));
    fs::remove(path);
    CHECK(has_sample(**old_pack, 1));
  }

  TEST_CASE("is copied into a store, which keeps what it has") {
    const TemporaryDirectory directory;
    const auto pack = open_pack(make_pack(directory, "a.kpack", {1, 2, 3}));
    const auto store = open_store(directory.path());
    REQUIRE(store->put(keyed_facts(2), sample_image(2)).is_ok());
    const PackImport some = import_pack(**pack, *store, {.template_name = "template_3"});
    CHECK(some.imported == 1);
    CHECK(some.present == 0);
    const PackImport all = import_pack(**pack, *store, {});
    CHECK(all.status.is_ok());
    CHECK(all.imported == 1);
    CHECK(all.present == 2);
    CHECK(all.refused == 0);
    for (const std::uint32_t seed : {1U, 2U, 3U}) {
      const auto found = store->find(keyed_facts(seed).key);
      REQUIRE(found->has_value());
      CHECK((*found)->facts == keyed_facts(seed));
      CHECK((*found)->image == sample_image(seed));
    }
    // A damaged entry does not keep a sound one out.
    RawDatabase(database_path(directory)).set_image(keyed_facts(2).key, "damage");
    CHECK(import_pack(**pack, *store, {}).imported == 1);
    CHECK(store->find(keyed_facts(2).key)->has_value());
  }

  TEST_CASE("signed entries are taken from those who are trusted, and only those") {
    const TemporaryDirectory directory;
    write_key_pair(directory.file("ours"));
    write_key_pair(directory.file("theirs"));
    const auto signer = SigningKey::read(directory.file("ours.pem"));
    REQUIRE(signer.is_ok());
    const std::string plain = make_pack(directory, "plain.kpack", {1, 2});
    const std::string made = make_pack(directory, "signed.kpack", {1, 2}, &*signer);
    struct Row {
      const char* key;
      const std::string& path;
      bool is_taken;
    };
    for (const Row& row : {Row{nullptr, plain, true}, Row{nullptr, made, true},
                           Row{"ours.pub", plain, false}, Row{"ours.pub", made, true},
                           Row{"theirs.pub", plain, false}, Row{"theirs.pub", made, false}}) {
      CAPTURE(row.path);
      PackTrust trust;
      if (row.key != nullptr) {
        trust.keys = *TrustedKeys::read(std::vector{directory.file(row.key)}, false);
      }
      const auto pack = Pack::open(row.path, trust);
      REQUIRE(pack.is_ok());
      CHECK(has_sample(**pack, 1) == row.is_taken);
      CHECK((*pack)->verify()->is_sound() == row.is_taken);
      CHECK((*pack)->summary()->untrusted_entries == (row.is_taken ? 0 : 2));
      const TemporaryDirectory store_directory;
      const auto store = open_store(store_directory.path());
      const PackImport done = import_pack(**pack, *store, {});
      CHECK(done.imported == (row.is_taken ? 2 : 0));
      CHECK(done.refused == (row.is_taken ? 0 : 2));
      CHECK(done.refusals.size() == static_cast<std::size_t>(done.refused));
    }
    CHECK((*open_pack(made))->summary()->signed_by == std::vector{signer->sha256()});
  }
}

}  // namespace
}  // namespace kiln::test
