// SPDX-License-Identifier: Apache-2.0
// Database files that are damaged, replaced or foreign.
#include "cache/store.h"
#include "cache_fixture.h"
#include "support/files.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <sys/stat.h>

#include <filesystem>

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kEntries = 6;

// A closed store with some entries, as bytes.
std::string sound_database(const TemporaryDirectory& directory) {
  {
    const auto store = open_store(directory.path());
    for (std::uint32_t seed = 0; seed < kEntries; ++seed)
      put_sample(*store, seed);
  }
  REQUIRE_FALSE(exists(directory.file("store-v1.db-wal")));
  return read_text(database_path(directory));
}

// Whatever has happened to the file: sound entries or misses, and a store that works again.
void check_goes_on(const TemporaryDirectory& directory) {
  {
    const auto store = open_store(directory.path());
    for (std::uint32_t seed = 0; seed < kEntries; ++seed)
      finds_sample(*store, seed);
    // Reads and writes every table, so that damage to any shows here and not at the close.
    CHECK(store->list({}).is_ok());
    CHECK(store->flush().is_ok());
    CHECK(store->counters().is_ok());
    put_sample(*store, 3);
    CHECK(finds_sample(*store, 3));
    CHECK(store->summary()->quarantined <= 1);
  }
  const auto store = open_store(directory.path());
  CHECK(finds_sample(*store, 3));
  CHECK(store->summary()->quarantined == 0);
}

void write_new(const std::string& path, std::string_view text) {
  fs::remove(path);
  write_text(path, text);
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
}

TEST_SUITE("Store recovery") {
  TEST_CASE("a file that is no database is quarantined and a new one begun") {
    for (const std::string& text : {std::string("text"), std::string(10000, 'x'), std::string(),
                                    std::string(100, '\0'), std::string(8192, '\0')}) {
      const TemporaryDirectory directory;
      CAPTURE(text.size());
      write_new(database_path(directory), text);
      const LogCapture log;
      const auto store = open_store(directory.path());
      CHECK(store->summary()->quarantined == 1);
      CHECK(log.warnings() == 1);
      put_sample(*store, 1);
      CHECK(finds_sample(*store, 1));
      CHECK(read_text(directory.file("store-v1.quarantine.db")) == text);
      CHECK(log.warnings() == 1);
    }
  }

  TEST_CASE("at most one quarantined database is kept") {
    const TemporaryDirectory directory;
    for (const char* text : {"first", "second"}) {
      write_new(database_path(directory), text);
      write_text(directory.file("store-v1.db-wal"), text);
      CHECK(open_store(directory.path())->summary()->quarantined == 1);
      CHECK(read_text(directory.file("store-v1.quarantine.db")) == text);
    }
    int databases = 0;
    for (const auto& file : fs::directory_iterator(directory.path())) {
      if (file.path().extension() == ".db") ++databases;
    }
    CHECK(databases == 2);
  }

  TEST_CASE("any zeroed page is survived") {
    const TemporaryDirectory directory;
    const std::string sound = sound_database(directory);
    for (std::size_t page = 0; page * 4096 < sound.size(); ++page) {
      CAPTURE(page);
      std::string damaged = sound;
      damaged.replace(page * 4096, 4096, std::string(4096, '\0'));
      write_new(database_path(directory), damaged);
      check_goes_on(directory);
    }
  }

  TEST_CASE("a database cut off at any page is survived") {
    const TemporaryDirectory directory;
    const std::string sound = sound_database(directory);
    for (std::size_t size = 0; size < sound.size(); size += 4096) {
      CAPTURE(size);
      write_new(database_path(directory), sound.substr(0, size));
      check_goes_on(directory);
      write_new(database_path(directory), sound.substr(0, size + 1000));
      check_goes_on(directory);
    }
  }

  TEST_CASE("a flipped byte anywhere is survived") {
    const TemporaryDirectory directory;
    const std::string sound = sound_database(directory);
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < 108; ++i)
      positions.push_back(i);  // headers of file and root
    for (std::size_t i = 0; i < 100; ++i)
      positions.push_back(i * sound.size() / 100);
    for (const std::size_t position : positions) {
      // The numbers that say whose database it is and of which schema.
      if (position >= 60 && position < 64) continue;
      if (position >= 68 && position < 72) continue;
      CAPTURE(position);
      std::string damaged = sound;
      damaged[position] = static_cast<char>(damaged[position] ^ 0x55);
      write_new(database_path(directory), damaged);
      check_goes_on(directory);
    }
  }

  TEST_CASE("a database with Kiln's numbers but other tables is quarantined") {
    const TemporaryDirectory directory;
    write_new(database_path(directory), "");
    {
      RawDatabase raw(database_path(directory));
      raw.execute(
          "PRAGMA application_id = 0x4B494C4E; PRAGMA user_version = 1; CREATE TABLE t (x)");
    }
    const auto store = open_store(directory.path());
    bool recovered = false;
    CHECK_FALSE(finds_sample(*store, 1, &recovered));
    CHECK(recovered);
    put_sample(*store, 1);
    CHECK(finds_sample(*store, 1));
    CHECK(store->summary()->quarantined == 1);
  }

  TEST_CASE("a newer schema and another application's database are left untouched") {
    for (const char* change : {"PRAGMA user_version = 2", "PRAGMA application_id = 7"}) {
      const TemporaryDirectory directory;
      CAPTURE(change);
      { put_sample(*open_store(directory.path()), 1); }
      { RawDatabase(database_path(directory)).execute(change); }
      const std::string before = read_text(database_path(directory));
      for (const StoreMode mode : {StoreMode::read_write, StoreMode::inspect}) {
        const auto store = Store::open(directory.path(), mode);
        CHECK(store.status().code() == Code::unsupported);
      }
      CHECK(read_text(database_path(directory)) == before);
      CHECK_FALSE(exists(directory.file("store-v1.quarantine.db")));
    }
  }

  TEST_CASE("open stores follow when the database is removed or replaced") {
    const TemporaryDirectory directory;
    const auto one = open_store(directory.path());
    const auto two = open_store(directory.path());
    put_sample(*one, 1);
    for (const char* suffix : {"", "-wal", "-shm"}) {
      fs::remove(database_path(directory) + suffix);
    }
    put_sample(*two, 2);  // makes a new one
    put_sample(*one, 3);
    CHECK(finds_sample(*one, 2));
    CHECK(finds_sample(*one, 3));
    CHECK(finds_sample(*two, 3));
    CHECK(open_store(directory.path())->summary()->entries == 2);
  }

  TEST_CASE("open stores follow when one of them quarantines the database") {
    const TemporaryDirectory directory;
    const auto one = open_store(directory.path());
    const auto two = open_store(directory.path());
    put_sample(*one, 1);
    CHECK(finds_sample(*two, 1));
    {
      RawDatabase raw(database_path(directory));
      raw.execute("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 1000000;");
      raw.execute("PRAGMA user_version = 1; PRAGMA schema_version = 999");
    }
    bool recovered = false;
    CHECK_FALSE(finds_sample(*one, 1, &recovered));
    CHECK(recovered);
    CHECK(one->summary()->quarantined == 1);
    put_sample(*two, 2);
    CHECK(two->summary()->quarantined == 0);
    CHECK(finds_sample(*one, 2));
  }

  TEST_CASE("a log or index deleted while in use costs nothing that was stored") {
    for (const bool log_too : {false, true}) {
      for (const bool index_too : {false, true}) {
        if (!log_too && !index_too) continue;
        CAPTURE(log_too);
        CAPTURE(index_too);
        const TemporaryDirectory directory;
        const auto one = open_store(directory.path());
        const auto two = open_store(directory.path());
        for (const std::uint32_t seed : {1U, 2U, 3U})
          put_sample(*one, seed);
        if (log_too) fs::remove(database_path(directory) + "-wal");
        if (index_too) fs::remove(database_path(directory) + "-shm");
        put_sample(*two, 4);
        put_sample(*one, 5);
        const auto three = open_store(directory.path());
        for (const std::uint32_t seed : {1U, 2U, 3U, 4U, 5U}) {
          CAPTURE(seed);
          CHECK(finds_sample(*one, seed));
          CHECK(finds_sample(*two, seed));
          CHECK(finds_sample(*three, seed));
        }
        CHECK(one->summary()->quarantined + two->summary()->quarantined == 0);
        struct stat status {};
        REQUIRE(::stat(database_path(directory).c_str(), &status) == 0);
        CHECK((status.st_mode & 07777U) == 0600);
        CHECK_FALSE(exists(directory.file("store-v1.new.db")));
        CHECK_FALSE(exists(directory.file("store-v1.old.db")));
      }
    }
  }

  TEST_CASE("a log deleted under a store is survived by one that opens before it notices") {
    const TemporaryDirectory directory;
    const auto one = open_store(directory.path());
    for (const std::uint32_t seed : {1U, 2U, 3U})
      put_sample(*one, seed);
    fs::remove(database_path(directory) + "-wal");
    const int status = in_child([&] {
      // Nothing of the parent's connection is used: this process opens its own.
      const auto two = open_store(directory.path());
      finds_sample(*two, 1);
      put_sample(*two, 4);
      CHECK(finds_sample(*two, 4));
    });
    CHECK(status == 0);
    put_sample(*one, 5);
    CHECK(finds_sample(*one, 5));
    const auto three = open_store(directory.path());
    CHECK(finds_sample(*three, 5));
  }

  TEST_CASE("a directory that is removed while a store is open is made again") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("cache");
    REQUIRE(make_private_directories(path).is_ok());
    const auto store = open_store(path);
    put_sample(*store, 1);
    std::filesystem::remove_all(path);
    put_sample(*store, 2);
    CHECK(finds_sample(*store, 2));
    CHECK((std::filesystem::status(path).permissions() & std::filesystem::perms::all) ==
          std::filesystem::perms::owner_all);
  }

  TEST_CASE("a directory that cannot be made is io") {
    const TemporaryDirectory directory;
    write_text(directory.file("file"), "in the way");
    CHECK(Store::open(directory.file("file/cache"), StoreMode::read_write).status().code() ==
          Code::io);
  }
}

}  // namespace
}  // namespace kiln::test
