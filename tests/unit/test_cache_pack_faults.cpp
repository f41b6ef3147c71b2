// SPDX-License-Identifier: Apache-2.0
// Packs that are refused, in whole or in part: the reason is said, sizes are bounded, and no image
// but the right one ever comes out.
#include "cache/pack_file.h"
#include "cache/pack_import.h"
#include "key_fixture.h"
#include "pack_fixture.h"
#include "support/text.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <zstd.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

// A new file each time: to write one over again waits for the disk.
std::string copy(const std::string& path) {
  static int count = 0;
  const std::string name = fmt::format("{}-{}.kpack", path, ++count);
  fs::copy_file(path, name);
  return name;
}

void poke(const std::string& path, std::size_t at, char byte) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
  file.close();
  REQUIRE(file.good());
}

std::string set_key_fields(std::string_view json) {
  return fmt::format("UPDATE entries SET key_fields = x'{}'", to_hex(*compress_text(json)));
}

// The pack is refused as a whole, with this in the message, and left as it is.
void check_refused(const std::string& path, Code code, std::string_view part) {
  const std::string before = fs::is_regular_file(path) ? read_text(path) : "";
  const Status status = open_pack(path).status();
  CAPTURE(status.message());
  CHECK(status.code() == code);
  CHECK(status.message().find(part) != std::string::npos);
  CHECK(status.message().find(path.substr(path.rfind('/'))) != std::string::npos);
  if (!before.empty()) CHECK(read_text(path) == before);
}

// The one entry of the pack is refused with this in the reason, on every way in.
void check_entry_refused(const std::string& path, const Digest& key, std::string_view part) {
  const auto pack = open_pack(path);
  REQUIRE_MESSAGE(pack.is_ok(), pack.status().message());
  std::vector<Status> refusals;
  const auto found = (*pack)->find(LookUp::key, key, refusals);
  REQUIRE(found.is_ok());
  CHECK_FALSE(found->has_value());
  REQUIRE(refusals.size() == 1);
  CAPTURE(refusals.front().message());
  CHECK(refusals.front().message().find(part) != std::string::npos);
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  const PackImport done = import_pack(**pack, *store, {});
  CHECK(done.imported == 0);
  CHECK(done.refused == 1);
  CHECK(done.status.is_ok());
  CHECK(store->list({})->empty());
  CHECK((*pack)->verify()->damaged_entries == 1);
}

// Gives the entry of the pack these facts and this stored image, with a digest that fits.
void forge(const std::string& path, const EntryFacts& facts, const std::string& stored) {
  RawDatabase database(path);
  database.execute(fmt::format(
      "UPDATE entries SET image_bytes = {}, template_name = '{}', spec = '{}', entry_sha256 = "
      "x'{}'",
      facts.image_bytes, facts.template_name, facts.spec, entry_digest(facts, stored).hex()));
  database.set_image(facts.key, stored);
}

TEST_SUITE("Pack faults") {
  TEST_CASE("what is no pack is refused with the reason, and left untouched") {
    const TemporaryDirectory directory;
    const std::string path = make_pack(directory, "a.kpack", {1});
    const std::string whole = read_text(path);
    check_refused(directory.file("absent"), Code::not_found, "No such file");
    check_refused(directory.path(), Code::invalid_argument, "not a regular file");
    const std::string pipe = directory.file("pipe");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    check_refused(pipe, Code::invalid_argument, "not a regular file");
    for (const std::string& text :
         {std::string(), std::string("text"), std::string(5000, 'x'), whole.substr(0, 50)}) {
      write_text(path, text);
      check_refused(path, Code::corrupt, "no SQLite database");
    }
    write_text(path, "SQLite format 3");
    check_refused(path, Code::corrupt, "no SQLite database");
    write_text(path, whole);
    CHECK(open_pack(path).is_ok());
  }

  TEST_CASE("another application's database, and a store, are no packs") {
    const TemporaryDirectory directory;
    const std::string path = make_pack(directory, "a.kpack", {1});
    RawDatabase(path).execute("PRAGMA application_id = 1");
    check_refused(path, Code::unsupported, "application id");
    { put_sample(*open_store(directory.path()), 1); }
    check_refused(database_path(directory), Code::unsupported, "application id");
  }

  TEST_CASE("a newer schema or file format is refused, whatever else there is") {
    const TemporaryDirectory directory;
    const std::string path = make_pack(directory, "a.kpack", {1});
    RawDatabase(path).execute("PRAGMA user_version = 2; CREATE TABLE more (a)");
    check_refused(path, Code::unsupported, "schema is 2; this Kiln knows 1");
    RawDatabase(path).execute("PRAGMA user_version = 0");
    check_refused(path, Code::corrupt, "schema 0");
    make_pack(directory, "a.kpack", {1});
    RawDatabase(path).execute("PRAGMA journal_mode = WAL");
    check_refused(path, Code::corrupt, "file format 2");
  }

  TEST_CASE("tables that are not to the letter those of the schema are refused") {
    const TemporaryDirectory directory;
    const std::string original = make_pack(directory, "a.kpack", {1});
    for (const char* sql :
         {"CREATE TABLE more (a)", "CREATE VIEW more AS SELECT 1", "DROP TABLE signatures",
          "DROP INDEX entries_by_request", "CREATE INDEX more ON entries (spec)",
          "CREATE TRIGGER more AFTER INSERT ON entries BEGIN SELECT 1; END",
          "ALTER TABLE entries ADD COLUMN more TEXT GENERATED ALWAYS AS (spec)",
          "ALTER TABLE images RENAME TO kept; CREATE VIEW images AS WITH RECURSIVE n(i) AS (SELECT "
          "1 UNION ALL SELECT i + 1 FROM n) SELECT i AS entry, i AS image FROM n"}) {
      CAPTURE(sql);
      const std::string path = copy(original);
      RawDatabase(path).execute(sql);
      check_refused(path, Code::corrupt, "schema 1");
    }
  }

  TEST_CASE("what others own or can write is refused, also behind links, unless all are trusted") {
    const TemporaryDirectory directory;
    const std::string path = make_pack(directory, "a.kpack", {1});
    const std::string link = directory.file("link.kpack");
    REQUIRE(::symlink(path.c_str(), link.c_str()) == 0);
    CHECK(open_pack(link).is_ok());
    const PackTrust all{.others = true};
    REQUIRE(::chmod(path.c_str(), 0664) == 0);
    check_refused(path, Code::invalid_argument, "0664");
    CHECK(open_pack(link).status().code() == Code::invalid_argument);
    CHECK(Pack::open(path, all).is_ok());
    REQUIRE(::chmod(path.c_str(), 0644) == 0);
    for (const mode_t mode : {0777U, 0770U, 01777U}) {
      const TemporaryDirectory elsewhere;
      const std::string other = elsewhere.file("link.kpack");
      REQUIRE(::symlink(path.c_str(), other.c_str()) == 0);
      REQUIRE(::chmod(directory.path().c_str(), mode) == 0);
      check_refused(path, Code::invalid_argument, fmt::format("{:04o}", mode));
      CHECK(open_pack(other).status().code() == Code::invalid_argument);
      CHECK(Pack::open(other, all).is_ok());
    }
    REQUIRE(::chmod(directory.path().c_str(), 0700) == 0);
    if (::geteuid() != 0) return;
    REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
    check_refused(path, Code::invalid_argument, "belongs to user 65534");
    CHECK(Pack::open(path, all).is_ok());
  }

  TEST_CASE("changed facts and images, and another's key, are refused") {
    const TemporaryDirectory directory;
    const EntryFacts facts = keyed_facts(1);
    const std::string original = make_pack(directory, "a.kpack", {1});
    struct Row {
      std::string sql;
      std::string_view reason;
    };
    for (const Row& row : {
             Row{"UPDATE entries SET registers = registers + 1", "entry_sha256"},
             Row{"UPDATE entries SET created_at = 1", "entry_sha256"},
             Row{"UPDATE entries SET target = 'sm_90'", "target is \"sm_90\""},
             Row{"UPDATE entries SET toolchain = 'nvrtc-1.0'", "toolchain is"},
             Row{"UPDATE entries SET template_name = '../../etc/passwd'", "template_name is"},
             Row{"UPDATE entries SET key_fields = x'7B7D'", "key_fields"},  // {}, no zstd frame
             Row{set_key_fields("{}"), "key"},
             Row{set_key_fields(std::string(100000, '[')), "key"},
             Row{"UPDATE entries SET log = zeroblob(0) || replace(hex(zeroblob(600000)),'0','x')",
                 "log has"},
             Row{"UPDATE entries SET entry_sha256 = x'00'", "a digest has 32"},
             Row{"UPDATE images SET image = x''", "entry_sha256"},
             Row{"UPDATE images SET image = zeroblob(70000000)", "larger than any"},
             Row{"DELETE FROM images", "no image"},
         }) {
      CAPTURE(row.sql.substr(0, 80));
      const std::string path = copy(original);
      RawDatabase(path).execute(row.sql);
      check_entry_refused(path, facts.key, row.reason);
    }
    const std::string path = copy(original);
    const Digest other = keyed_facts(2).key;
    RawDatabase(path).execute(fmt::format("UPDATE entries SET key = x'{}'", other.hex()));
    check_entry_refused(path, other, "the key fields say");
  }

  TEST_CASE("an image that would unpack to more than it may is not unpacked") {
    const TemporaryDirectory directory;
    const std::string path = make_pack(directory, "a.kpack", {1});
    const std::string large(std::size_t{256} << 20U, '\0');
    std::string bomb(ZSTD_compressBound(large.size()), '\0');
    bomb.resize(ZSTD_compress(bomb.data(), bomb.size(), large.data(), large.size(), 3));
    REQUIRE(bomb.size() < 100000);
    EntryFacts facts = keyed_facts(1);
    for (const std::int64_t claimed : {std::int64_t{20000}, std::ssize(large), std::int64_t{-1}}) {
      facts.image_bytes = claimed;
      forge(path, facts, bomb);
      rusage before{};
      ::getrusage(RUSAGE_SELF, &before);
      check_entry_refused(path, facts.key, claimed == 20000 ? "not one zstd frame" : "claims");
      rusage after{};
      ::getrusage(RUSAGE_SELF, &after);
      CHECK(after.ru_maxrss - before.ru_maxrss < 64 << 10);
    }
  }

  TEST_CASE("names that look like paths are text, and make no file") {
    const TemporaryDirectory directory;
    const std::string path = make_pack(directory, "a.kpack", {1});
    EntryFacts facts = keyed_facts(1);
    const std::string stored = RawDatabase(path).image(facts.key);
    facts.spec = "../../../tmp/kiln-escaped:x=1";
    forge(path, facts, stored);
    const auto pack = open_pack(path);
    const TemporaryDirectory elsewhere;
    const auto store = open_store(elsewhere.path());
    CHECK(import_pack(**pack, *store, {}).imported == 1);
    CHECK(store->list({})->front().facts.spec == facts.spec);
    for (const auto& file : fs::directory_iterator(elsewhere.path())) {
      CHECK(file.path().filename().string().starts_with("store-v1."));
    }
  }

  TEST_CASE("a signature that was changed, moved or is of no length is refused") {
    const TemporaryDirectory directory;
    write_key_pair(directory.file("k"));
    const auto signer = SigningKey::read(directory.file("k.pem"));
    REQUIRE(signer.is_ok());
    const PackTrust trust{.keys = *TrustedKeys::read(std::vector{directory.file("k.pub")}, false)};
    const std::string original = make_pack(directory, "a.kpack", {1, 2}, &*signer);
    for (const auto& [sql, reason] : std::initializer_list<std::pair<const char*, const char*>>{
             {"UPDATE signatures SET signature = zeroblob(64)", "signature is wrong"},
             {"UPDATE signatures SET entry = -entry; UPDATE signatures SET entry = entry + 3",
              "signature is wrong"},
             {"UPDATE signatures SET signature = x''", "size"},
             {"UPDATE signatures SET key_sha256 = zeroblob(1000000)", "size"},
             {"UPDATE signatures SET key_sha256 = zeroblob(32)", "not trusted"},
             {"DELETE FROM signatures", "not signed"}}) {
      CAPTURE(sql);
      const std::string path = copy(original);
      RawDatabase(path).execute(sql);
      const auto pack = Pack::open(path, trust);
      REQUIRE(pack.is_ok());
      std::vector<Status> refusals;
      CHECK_FALSE((*pack)->find(LookUp::key, keyed_facts(1).key, refusals)->has_value());
      REQUIRE(refusals.size() == 1);
      CAPTURE(refusals.front().message());
      CHECK(refusals.front().message().find(reason) != std::string::npos);
      CHECK((*pack)->verify()->damaged_entries == 2);
      CHECK(has_sample(**open_pack(path), 1));  // nobody is asked for
    }
  }

  TEST_CASE("a pack cut off anywhere, or with any byte changed, never gives a wrong image") {
    const TemporaryDirectory directory;
    const std::string path = make_pack(directory, "a.kpack", {1, 2});
    const std::string whole = read_text(path);
    int refused = 0;
    int found = 0;
    const auto look = [&](const std::string& changed) {
      const auto pack = open_pack(changed);
      if (!pack.is_ok()) {
        ++refused;
        return;
      }
      for (const std::uint32_t seed : {1U, 2U}) {
        for (const LookUp by : {LookUp::key, LookUp::request})
          ++(has_sample(**pack, seed, by) ? found : refused);
      }
      const Status visited = (*pack)->visit([](const Pack::Entry& entry) {
        if (!entry.refusal.is_ok()) return Status();
        CHECK((entry.image == sample_image(1) || entry.image == sample_image(2)));
        return Status();
      });
      CHECK((visited.is_ok() || visited.code() == Code::corrupt));
      CHECK((*pack)->verify().is_ok());
    };
    for (std::size_t at = 0; at < whole.size(); at += at < 128 ? 1 : 53) {
      poke(path, at, static_cast<char>(whole[at] ^ (1U << (at % 8))));
      look(path);
      poke(path, at, whole[at]);
    }
    for (std::size_t size = 0; size < whole.size(); size += 997) {
      const std::string cut = copy(path);
      REQUIRE(::truncate(cut.c_str(), static_cast<off_t>(size)) == 0);
      look(cut);
    }
    CHECK(refused > 100);
    CHECK(found > 100);
    // Also when that happens under the feet of one who has it open.
    const auto pack = open_pack(path);
    REQUIRE(pack.is_ok());
    REQUIRE(::truncate(path.c_str(), 5000) == 0);
    CHECK_FALSE(has_sample(**pack, 1));
  }

  TEST_CASE("a request that has more bad entries than there are compilers ends the search") {
    const TemporaryDirectory directory;
    std::vector<std::uint32_t> seeds(300);
    std::iota(seeds.begin(), seeds.end(), 0U);
    const std::string path = make_pack(directory, "a.kpack", seeds);
    RawDatabase(path).execute("UPDATE entries SET request = zeroblob(32)");
    const auto pack = open_pack(path);
    std::vector<Status> refusals;
    CHECK((*pack)->find(LookUp::request, Digest(), refusals).status().code() == Code::corrupt);
    CHECK(refusals.empty());
  }

  TEST_CASE("rows in a circle do not keep a reader for ever") {
    const TemporaryDirectory directory;
    std::vector<std::uint32_t> seeds(300);
    std::iota(seeds.begin(), seeds.end(), 0U);
    const std::string path = make_pack(directory, "a.kpack", seeds);
    std::int64_t root = 0;
    {
      RawDatabase database(path);
      root = database.integer("SELECT rootpage FROM sqlite_schema WHERE name = 'entries'");
    }
    std::string bytes = read_text(path);
    const std::size_t page = static_cast<std::size_t>(root - 1) * 4096;
    REQUIRE(bytes[page] == 5);  // an inner page of a table
    const auto number = [&](std::size_t at) {
      return static_cast<unsigned char>(bytes[at]) * 256U +
             static_cast<unsigned char>(bytes[at + 1]);
    };
    // Every cell leads to the first one's page.
    const std::size_t first = page + number(page + 12);
    for (std::size_t cell = 1; cell < number(page + 3); ++cell)
      bytes.replace(page + number(page + 12 + 2 * cell), 4, bytes.substr(first, 4));
    write_text(path, bytes);
    const auto pack = open_pack(path);
    REQUIRE_MESSAGE(pack.is_ok(), pack.status().message());
    CHECK((*pack)->summary().status().code() == Code::corrupt);
    CHECK((*pack)->visit([](const Pack::Entry&) { return Status(); }).code() == Code::corrupt);
    CHECK_FALSE((*pack)->verify()->is_sound());
  }
}

}  // namespace
}  // namespace kiln::test
