// SPDX-License-Identifier: Apache-2.0
// Processes that compile, put, prune and evict on one store, and are killed one after the other
// anywhere in that: 60 of them, or with KILN_STRESS=full 1000. After each kill all that was
// acknowledged is there, and is what was put. The program starts itself as a helper:
// test_cache_kills helper <role> <directory> <templates> <seed>.
#define DOCTEST_CONFIG_IMPLEMENT
#include "cache/build_locks.h"
#include "cache/store.h"
#include "cache_fixture.h"
#include "jit/key.h"
#include "runtime/engine.h"
#include "tests/stress/effort.h"
#include "tests/stress/kill_roles.h"
#include "tests/support/helper_process.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <random>
#include <set>

namespace kiln::test {
namespace {

using Roles = std::vector<const char*>;

// Beside the seeds of the roles.
constexpr std::uint32_t kFirstFilled = 500000;
// An eviction makes room for some more than that.
constexpr int kPutsAfterEviction = 8;

// Who meets whom. Two that fill evict at once; two that compile want the same.
const std::array<Roles, 7> kMeetings = {{{"fill", "fill"},
                                         {"compile", "keep"},
                                         {"keep", "fill", "fill"},
                                         {"compile", "compile"},
                                         {"prune", "fill", "keep"},
                                         {"compile", "fill", "prune"},
                                         {"prune", "prune", "fill"}}};

// How long a step of a role takes, so that kills fall into all of it.
int step_us(std::string_view role) {
  if (role == "compile") return 200000;
  return role == "prune" ? 30000 : 10000;
}

struct Compiled {
  Digest key;
  Digest request;
  std::string image;
};

// What the engine compiles when nothing is stored.
std::vector<Compiled> compile_references(const std::string& templates) {
  const auto engine = open_compiling_engine("", templates, false);
  REQUIRE(engine != nullptr);
  std::vector<Compiled> references;
  for (std::uint32_t number = 0; number < kCompiled; ++number) {
    const auto variant = Variant::parse(engine->catalog(), compiled_spec(number));
    REQUIRE(variant.is_ok());
    const auto acquired = engine->acquire(*variant, compiled_target(), AcquireLimit::compile);
    REQUIRE_MESSAGE(acquired.is_ok(), acquired.status().message());
    const CompiledKernel& kernel = *acquired->kernel;
    references.push_back(
        {.key = kernel.key,
         .request = request_fields(*variant, kernel.specialization, compiled_target()).request(),
         .image = kernel.artifact.image});
  }
  return references;
}

class Killing {
 public:
  explicit Killing(std::uint32_t seed) : random_(seed) {
    write_compiled_template(templates_.path());
    references_ = compile_references(templates_.path());
  }

  // Starts processes with these roles, and kills one after the other.
  void meet(const Roles& roles) {
    const auto is_among = [&](std::string_view role) {
      return std::find(roles.begin(), roles.end(), role) != roles.end();
    };
    if (is_among("compile")) forget_compiled();
    if (is_among("fill")) fill_up();
    struct Process {
      std::string_view role;
      std::unique_ptr<HelperProcess> helper;
    };
    std::vector<Process> processes;
    for (const char* role : roles) {
      processes.push_back(
          {role, std::make_unique<HelperProcess>(std::vector<std::string>{
                     role, directory_.path(), templates_.path(), std::to_string(random_())})});
    }
    std::shuffle(processes.begin(), processes.end(), random_);
    while (!processes.empty()) {
      const auto [role, helper] = std::move(processes.back());
      processes.pop_back();
      CAPTURE(role);
      std::vector<std::uint32_t> told = helper->read(static_cast<int>(random_() % 6));
      // Not to wait for anything, but to be killed anywhere.
      ::usleep(static_cast<useconds_t>(random_() % static_cast<std::uint32_t>(step_us(role))));
      const int status = helper->kill_and_wait();
      CHECK((status == 128 + SIGKILL || (status == 0 && role == "compile")));
      if (status != 0) ++kills_;
      const std::vector<std::uint32_t> rest = helper->read_rest();
      told.insert(told.end(), rest.begin(), rest.end());
      note(told);
      const bool may_compile = std::any_of(processes.begin(), processes.end(),
                                           [](const Process& p) { return p.role == "compile"; });
      check_after_kill(may_compile);
    }
    check_at_rest();
    if (is_among("prune")) return;
    if (is_among("fill") && !open()->find(next_to_go_)->has_value()) ++evicting_meetings_;
  }

  int kills() const { return kills_; }
  int kills_in_compiles() const { return kills_in_compiles_; }
  int evicting_meetings() const { return evicting_meetings_; }
  int told(Told what) const { return told_.count(what) == 0 ? 0 : told_.at(what); }

 private:
  void note(const std::vector<std::uint32_t>& numbers) {
    for (const std::uint32_t number : numbers) {
      const auto what = static_cast<Told>(number / 1000 * 1000);
      ++told_[what];
      if (what == Told::kept) kept_.insert(number % 1000);
      if (what == Told::compiled) compiled_.insert(number % 1000);
    }
    if (!numbers.empty() &&
        numbers.back() / 1000 * 1000 == static_cast<std::uint32_t>(Told::compiling))
      ++kills_in_compiles_;
  }

  // So that they are compiled again. Nobody else is at work.
  void forget_compiled() {
    const auto store = open();
    const auto pruned = store->prune({.template_name = "copy", .include_pinned = true}, false);
    REQUIRE_MESSAGE(pruned.is_ok(), pruned.status().message());
    compiled_.clear();
  }

  // To a few puts before the next eviction.
  void fill_up() {
    const auto store = open();
    std::uint32_t seed = kFirstFilled;
    const auto put_next = [&] {
      const Status put = store->put(disposable_facts(seed), disposable_image(seed));
      REQUIRE_MESSAGE(put.is_ok(), put.message());
      ++seed;
    };
    for (std::int64_t before = 0; store->summary()->entries >= before;) {
      before = store->summary()->entries;
      put_next();
    }
    for (int i = 0; i < kPutsAfterEviction; ++i)
      put_next();
    const auto rows = store->list({});
    const auto least = std::find_if(rows->rbegin(), rows->rend(),
                                    [](const EntryRow& row) { return !row.is_pinned; });
    REQUIRE(least != rows->rend());
    next_to_go_ = least->facts.key;
  }

  std::unique_ptr<Store> open(StoreMode mode = StoreMode::read_write) const {
    auto store = Store::open(directory_.path(), mode, kKillLimitBytes);
    REQUIRE_MESSAGE(store.is_ok(), store.status().message());
    return std::move(*store);
  }

  void check_after_kill(bool may_compile) {
    const auto store = open();
    // Looked at without a trace: were they used now, it would not take a pin to keep them.
    const auto inspected = open(StoreMode::inspect);
    for (const std::uint32_t seed : kept_)
      check_found(*inspected, kept_facts(seed).key, kept_image(seed));
    for (const std::uint32_t number : compiled_)
      check_found(*inspected, references_[number].key, references_[number].image);
    CHECK(store->counters()->at(Counter::recovered) == 0);
    CHECK(store->summary()->quarantined == 0);
    CHECK_FALSE(exists(directory_.file("store-v1.quarantine.db")));
    if (may_compile) return;
    BuildLocks locks(directory_.path());
    for (const Compiled& reference : references_) {
      const auto is_free = locks.try_lock(reference.request);
      REQUIRE(is_free.is_ok());
      CHECK(*is_free);
      locks.unlock(reference.request);
    }
  }

  static void check_found(Store& store, const Digest& key, std::string_view image) {
    const auto found = store.find(key);
    REQUIRE_MESSAGE(found.is_ok(), found.status().message());
    REQUIRE(found->has_value());
    CHECK((*found)->image == image);
  }

  // With everybody dead: all of the database is sound, and the next put brings it to its limit.
  void check_at_rest() const {
    const auto store = open();
    const auto seen = store->verify(false);
    REQUIRE_MESSAGE(seen.is_ok(), seen.status().message());
    CHECK(seen->is_sound());
    const Status put = store->put(kept_facts(kKept), kept_image(kKept));
    CHECK_MESSAGE(put.is_ok(), put.message());
    CHECK(store->summary()->file_bytes <= kKillLimitBytes);
  }

  TemporaryDirectory directory_;
  TemporaryDirectory templates_;
  std::mt19937 random_;
  std::vector<Compiled> references_;
  std::set<std::uint32_t> kept_;
  std::set<std::uint32_t> compiled_;
  std::map<Told, int> told_;
  Digest next_to_go_;
  int kills_ = 0;
  int kills_in_compiles_ = 0;
  int evicting_meetings_ = 0;
};

TEST_SUITE("Store kills") {
  TEST_CASE("whoever is killed wherever, what was acknowledged stays and nothing is wrong") {
    Killing killing(1);
    const auto begin = std::chrono::steady_clock::now();
    const int most = is_full() ? 1000 : 60;
    for (std::size_t meeting = 0; killing.kills() < most; ++meeting)
      killing.meet(kMeetings.at(meeting % kMeetings.size()));
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
    MESSAGE(killing.kills(), " kills in ", seconds.count(), " s, ", killing.kills_in_compiles(),
            " of them in a compile; ", killing.told(Told::kept), " kept, ",
            killing.told(Told::compiled), " compiled, ", killing.told(Told::disposable),
            " disposable, ", killing.told(Told::pruned), " prunes, ", killing.evicting_meetings(),
            " meetings that evicted");
    CHECK(killing.kills_in_compiles() > 0);
    CHECK(killing.evicting_meetings() > 0);
    for (const Told what : {Told::kept, Told::compiled, Told::disposable, Told::pruned})
      CHECK(killing.told(what) > 0);
  }
}

}  // namespace
}  // namespace kiln::test

int main(int argc, char** argv) {
  if (argc == 6 && std::string_view(argv[1]) == "helper") {
    return kiln::test::play_role(argv[2], argv[3], argv[4],
                                 static_cast<std::uint32_t>(std::stoul(argv[5])));
  }
  return doctest::Context(argc, argv).run();
}
