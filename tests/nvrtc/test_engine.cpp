// SPDX-License-Identifier: Apache-2.0
// The engine with a real store and a real NVRTC, and no device. Counters are the oracle.
#include "support/files.h"
#include "tests/nvrtc/engine_fixture.h"

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace kiln {
namespace {

using test::acquire;
using test::kSpec;
using test::kTarget;
using test::open_engine;
using test::TemporaryDirectory;

void run_sql(const std::string& directory, const char* sql) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(join_path(directory, "store-v1.db").c_str(), &database) == SQLITE_OK);
  char* message = nullptr;
  const int result = sqlite3_exec(database, sql, nullptr, nullptr, &message);
  CHECK_MESSAGE(result == SQLITE_OK, (message == nullptr ? "" : message));
  CHECK(sqlite3_changes(database) > 0);
  sqlite3_free(message);
  sqlite3_close(database);
}

}  // namespace

TEST_SUITE("Engine") {
  TEST_CASE("a miss compiles and stores, then memory and disk serve it") {
    const TemporaryDirectory directory;
    {
      const auto engine = open_engine(directory.path());
      const auto first = acquire(*engine);
      REQUIRE_MESSAGE(first.is_ok(), first.status().message() << first.status().detail());
      CHECK(first->tier == Tier::compiled);
      CHECK(first->is_stored);
      CHECK(first->kernel->artifact.resources.registers > 0);
      CHECK(first->kernel->artifact.layout.size() ==
            first->kernel->variant.manifest().arguments.size());
      const auto second = acquire(*engine);
      CHECK(second->tier == Tier::memory);
      CHECK(second->kernel == first->kernel);
      const Statistics statistics = engine->statistics();
      CHECK(statistics.misses == 1);
      CHECK(statistics.compiles == 1);
      CHECK(statistics.memory_hits == 1);
      CHECK(statistics.disk_hits == 0);
    }
    const auto engine = open_engine(directory.path());
    const auto third = acquire(*engine);
    REQUIRE(third.is_ok());
    CHECK(third->tier == Tier::disk);
    CHECK(engine->statistics().compiles == 0);
    CHECK(engine->statistics().disk_hits == 1);
    CHECK_FALSE(engine->is_nvrtc_loaded());
    const Counters lifetime = *engine->store()->counters();
    CHECK(lifetime.at(Counter::compiles) == 1);
    CHECK(lifetime.at(Counter::misses) == 1);
    CHECK(lifetime.at(Counter::memory_hits) == 1);
    CHECK(lifetime.at(Counter::disk_hits) == 1);
  }

  TEST_CASE("the order of parameters and defaults spelled out make no difference") {
    const TemporaryDirectory directory;
    const auto engine = open_engine(directory.path());
    REQUIRE(acquire(*engine).is_ok());
    CHECK(acquire(*engine, "layernorm_modulate:out=e4m3+bf16,reciprocal=rcp_rn,hidden=256")->tier ==
          Tier::memory);
    CHECK(engine->statistics().compiles == 1);
  }

  TEST_CASE("sixteen threads on one variant make one compile") {
    const TemporaryDirectory directory;
    const auto engine = open_engine(directory.path());
    const Variant variant = *Variant::parse(engine->catalog(), kSpec);
    std::vector<std::thread> threads;
    std::atomic<int> failures{0};
    for (int i = 0; i < 16; ++i) {
      threads.emplace_back([&] {
        if (!engine->acquire(variant, kTarget, AcquireLimit::compile).is_ok()) ++failures;
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    CHECK(failures == 0);
    CHECK(engine->statistics().compiles == 1);
    CHECK(engine->statistics().misses == 1);
    CHECK(engine->statistics().memory_hits == 15);
  }

  TEST_CASE("a limit below what it takes gives not_ready and compiles nothing") {
    const TemporaryDirectory directory;
    const auto engine = open_engine(directory.path());
    CHECK(acquire(*engine, kSpec, AcquireLimit::memory).status().code() == Code::not_ready);
    CHECK(acquire(*engine, kSpec, AcquireLimit::load).status().code() == Code::not_ready);
    CHECK(engine->statistics().compiles == 0);
    REQUIRE(acquire(*engine).is_ok());
    CHECK(acquire(*engine, kSpec, AcquireLimit::memory)->tier == Tier::memory);
    const auto other = open_engine(directory.path());
    CHECK(acquire(*other, kSpec, AcquireLimit::memory).status().code() == Code::not_ready);
    CHECK(acquire(*other, kSpec, AcquireLimit::load)->tier == Tier::disk);
  }

  TEST_CASE("a request that may only load does not wait for a compile") {
    const TemporaryDirectory directory;
    const auto engine = open_engine(directory.path());
    const Variant variant = *Variant::parse(engine->catalog(), kSpec);
    Status compiled;
    std::thread compiling(
        [&] { compiled = engine->acquire(variant, kTarget, AcquireLimit::compile).status(); });
    // From its miss on, the other thread leads.
    while (engine->statistics().misses == 0)
      std::this_thread::yield();
    const auto loaded = engine->acquire(variant, kTarget, AcquireLimit::load);
    CHECK((loaded.is_ok() || loaded.status().code() == Code::not_ready));
    CHECK(engine->statistics().waits == 0);
    compiling.join();
    CHECK(compiled.is_ok());
    CHECK(engine->statistics().compiles == 1);
  }

  TEST_CASE("a forked process gets a clear error, and can open an engine of its own") {
    const TemporaryDirectory directory;
    const auto engine = open_engine(directory.path());
    const Variant variant = *Variant::parse(engine->catalog(), kSpec);
    REQUIRE(engine->acquire(variant, kTarget, AcquireLimit::compile).is_ok());
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const auto inherited = engine->acquire(variant, kTarget, AcquireLimit::memory);
      EngineOptions options;
      options.cache_dir = directory.path();
      const auto own = Engine::open(std::move(options));
      const bool is_as_promised = inherited.status().code() == Code::unavailable && own.is_ok();
      ::_exit(is_as_promised ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }

  TEST_CASE("a damaged entry is dropped, compiled again, replaced and counted") {
    const TemporaryDirectory directory;
    REQUIRE(acquire(*open_engine(directory.path())).is_ok());
    run_sql(directory.path(), "UPDATE images SET image = zeroblob(length(image))");
    {
      const auto engine = open_engine(directory.path());
      const auto acquired = acquire(*engine);
      REQUIRE(acquired.is_ok());
      CHECK(acquired->tier == Tier::compiled);
      CHECK(engine->statistics().recovered == 1);
      CHECK(engine->statistics().compiles == 1);
    }
    const auto engine = open_engine(directory.path());
    CHECK(acquire(*engine)->tier == Tier::disk);
    CHECK(engine->statistics().recovered == 0);
    CHECK(engine->store()->counters()->at(Counter::recovered) == 1);
  }

  TEST_CASE("a cache directory that cannot be used leaves kernels in memory") {
    const TemporaryDirectory directory;
    const std::string file = directory.file("file");
    std::ofstream(file) << "in the way";
    const auto engine = open_engine(file);
    CHECK(engine->store() == nullptr);
    CHECK(engine->store_status().code() == Code::io);
    CHECK(acquire(*engine)->tier == Tier::compiled);
    CHECK_FALSE(acquire(*engine)->is_stored);
    CHECK(acquire(*engine)->tier == Tier::memory);
  }

  TEST_CASE("an entry of another NVRTC serves unless the toolchain must be exact") {
    const TemporaryDirectory directory;
    REQUIRE(acquire(*open_engine(directory.path())).is_ok());
    // As another NVRTC would have left it: its own key, toolchain and digest.
    {
      const auto store = *Store::open(directory.path(), StoreMode::read_write);
      const EntryRow row = store->list({})->at(0);
      const Store::Found found = **store->find(row.facts.key);
      EntryFacts facts = found.facts;
      facts.key.bytes[0] ^= 1U;
      facts.toolchain = "nvrtc-12.9++1+" + Digest{}.hex();
      REQUIRE(store->put(facts, found.image).is_ok());
    }
    run_sql(directory.path(), "DELETE FROM entries WHERE toolchain NOT LIKE 'nvrtc-12.9%'");
    {
      const auto engine = open_engine(directory.path());
      CHECK(acquire(*engine)->tier == Tier::disk);
      CHECK(engine->statistics().other_toolchain_hits == 1);
      CHECK_FALSE(engine->is_nvrtc_loaded());
    }
    EngineOptions exact;
    exact.environment.toolchain = ToolchainPolicy::exact;
    const auto engine = open_engine(directory.path(), exact);
    CHECK(acquire(*engine)->tier == Tier::compiled);
    CHECK(engine->statistics().other_toolchain_hits == 0);
  }

  TEST_CASE("without NVRTC a hit works and a miss is unavailable") {
    const TemporaryDirectory directory;
    REQUIRE(acquire(*open_engine(directory.path())).is_ok());
    EngineOptions without;
    without.environment.nvrtc = "/nonexistent/libnvrtc.so";
    const auto engine = open_engine(directory.path(), without);
    CHECK(acquire(*engine)->tier == Tier::disk);
    const Status missed = acquire(*engine, "static_quant").status();
    CHECK(missed.code() == Code::unavailable);
    CHECK(missed.message().find("/nonexistent/libnvrtc.so") != std::string::npos);
  }

  TEST_CASE("a target below the template's least is refused before any compile") {
    const TemporaryDirectory directory;
    const auto engine = open_engine(directory.path());
    const Variant variant = *Variant::parse(engine->catalog(), kSpec);
    const auto acquired = engine->acquire(variant, *parse_target("sm_80"), AcquireLimit::compile);
    CHECK(acquired.status().code() == Code::unsupported);
    CHECK(engine->statistics().misses == 0);
  }
}

}  // namespace kiln
