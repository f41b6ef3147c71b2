// SPDX-License-Identifier: Apache-2.0
// The engine with packs: when they are searched, and what they may serve. Counters are the oracle.
#include "cache/pack_path.h"
#include "cache/pack_writer.h"
#include "support/files.h"
#include "support/log.h"
#include "tests/nvrtc/engine_fixture.h"

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <string>
#include <vector>

namespace kiln {
namespace {

using test::acquire;
using test::kSpec;
using test::open_engine;
using test::TemporaryDirectory;

// A pack of the kernel of kSpec, compiled for it; `sql` then changes it.
std::string make_pack(const std::string& directory, const char* sql = nullptr) {
  const TemporaryDirectory cache;
  const auto engine = open_engine(cache.path());
  const auto acquired = acquire(*engine);
  REQUIRE_MESSAGE(acquired.is_ok(), acquired.status().message() << acquired.status().detail());
  const auto written =
      write_pack(*engine->store(), {.directory = directory, .keys = {acquired->kernel->key}});
  REQUIRE_MESSAGE(written.is_ok(), written.status().message());
  if (sql != nullptr) {
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open(written->path.c_str(), &database) == SQLITE_OK);
    CHECK(sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
    CHECK(sqlite3_changes(database) > 0);
    sqlite3_close(database);
  }
  return written->path;
}

EngineOptions with_packs(const std::string& path) {
  EngineOptions options{.environment = {}};
  options.environment.pack_path = {path};
  return options;
}

}  // namespace

TEST_SUITE("Engine packs") {
  TEST_CASE("a pack serves what the store has not, without NVRTC, and is not copied") {
    const TemporaryDirectory packs;
    const TemporaryDirectory cache;
    make_pack(packs.path());
    for (const std::int64_t round : {1, 2}) {
      const auto engine = open_engine(cache.path(), with_packs(packs.path()));
      const auto loaded = acquire(*engine, kSpec, AcquireLimit::load);
      REQUIRE_MESSAGE(loaded.is_ok(), loaded.status().message());
      CHECK(loaded->tier == Tier::pack);
      CHECK_FALSE(loaded->is_stored);
      CHECK(acquire(*engine)->tier == Tier::memory);
      CHECK_FALSE(engine->is_nvrtc_loaded());
      const Statistics statistics = engine->statistics();
      CHECK(statistics.pack_hits == 1);
      CHECK(statistics.disk_hits == 0);
      CHECK(statistics.misses == 0);
      CHECK(statistics.compiles == 0);
      CHECK(engine->store()->counters()->at(Counter::pack_hits) == round);
      CHECK(engine->store()->list({})->empty());
    }
  }

  TEST_CASE("the store comes first, and the directory in the cache is searched") {
    const TemporaryDirectory cache;
    REQUIRE(make_private_directories(pack_directory(cache.path())).is_ok());
    make_pack(pack_directory(cache.path()));
    {
      const auto engine = open_engine(cache.path());
      CHECK(acquire(*engine)->tier == Tier::pack);
      CHECK(acquire(*engine, "layernorm_modulate:hidden=512")->tier == Tier::compiled);
      CHECK(engine->statistics().misses == 1);
    }
    const TemporaryDirectory other;
    REQUIRE(acquire(*open_engine(other.path()))->tier == Tier::compiled);
    const auto engine = open_engine(other.path(), with_packs(pack_directory(cache.path())));
    CHECK(acquire(*engine)->tier == Tier::disk);
    CHECK(engine->statistics().pack_hits == 0);
  }

  TEST_CASE("a bad entry of a pack is compiled instead, with one warning") {
    for (const char* sql : {"UPDATE images SET image = zeroblob(length(image))",
                            "UPDATE entries SET registers = registers + 1"}) {
      const TemporaryDirectory packs;
      const TemporaryDirectory cache;
      make_pack(packs.path(), sql);
      int warnings = 0;
      set_log_sink([&](LogLevel, std::string_view) { ++warnings; }, LogLevel::warning);
      const auto engine = open_engine(cache.path(), with_packs(packs.path()));
      const auto compiled = acquire(*engine);
      set_log_sink({}, LogLevel::off);
      REQUIRE(compiled.is_ok());
      CHECK(compiled->tier == Tier::compiled);
      CHECK(warnings == 1);
      CHECK(engine->statistics().pack_hits == 0);
      CHECK(engine->statistics().misses == 1);
    }
  }

  TEST_CASE("packs serve also where no cache can be used, but not who asks for memory only") {
    const TemporaryDirectory packs;
    make_pack(packs.path());
    const auto engine = open_engine("relative", with_packs(packs.path()));
    CHECK(engine->store() == nullptr);
    CHECK(acquire(*engine)->tier == Tier::pack);
    EngineOptions options = with_packs(packs.path());
    options.use_store = false;
    CHECK(acquire(*open_engine("/unused", options), kSpec, AcquireLimit::load).status().code() ==
          Code::not_ready);
  }

  TEST_CASE("under the policy exact only the same compiler's entries of a pack serve") {
    const TemporaryDirectory packs;
    const TemporaryDirectory cache;
    make_pack(packs.path());
    EngineOptions options = with_packs(packs.path());
    options.environment.toolchain = ToolchainPolicy::exact;
    CHECK(acquire(*open_engine(cache.path(), options))->tier == Tier::pack);
    // The entry of a compiler that is not here: found by its request alone.
    const TemporaryDirectory others;
    make_pack(others.path(), "UPDATE entries SET key = zeroblob(32)");
    options.environment.pack_path = {others.path()};
    CHECK(acquire(*open_engine(cache.path(), options))->tier == Tier::compiled);
  }
}

}  // namespace kiln
