// SPDX-License-Identifier: Apache-2.0
#include "tests/stress/kill_roles.h"

#include "cache/store.h"
#include "cache_fixture.h"
#include "runtime/engine.h"
#include "tests/nvrtc/user_template.h"
#include "tests/support/helper_process.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

namespace kiln::test {
namespace {

constexpr std::size_t kKeptBytes = 9000;
constexpr std::size_t kFillBytes = 30000;
// Younger than those that are there before anybody fills.
constexpr std::uint32_t kFirstFill = 1000000;
// Who compares images has the seeds of as many.
constexpr std::uint32_t kFillSeeds = 400;

constexpr const char* kSource =
    "namespace user { template <int count, unsigned gain> "
    "__global__ void copy(const float* x, float* y, int n) { "
    "if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] * count; } }\n";

std::uint32_t below(std::uint32_t end, std::mt19937& random) {
  return static_cast<std::uint32_t>(random()) % end;
}

enum Exit { done = 0, cannot_open = 1, call_failed = 2, wrong_image = 3, nobody_reads = 4 };

Exit tell(Told what, std::uint32_t number = 0) {
  return HelperProcess::tell(static_cast<std::uint32_t>(what) + number) ? done : nobody_reads;
}

Exit report(std::string_view call, const Status& status) {
  fmt::print(stderr, "{}: {}\n", call, status.message());
  return call_failed;
}

// A miss is right: others evict.
Exit check_image(Store& store, const Digest& key, std::string_view image) {
  const auto found = store.find(key);
  if (!found.is_ok()) return report("find", found.status());
  return !*found || (*found)->image == image ? done : wrong_image;
}

Exit pin_and_tell(Store& store, const Digest& key, Told what, std::uint32_t number) {
  const auto pinned = store.set_pinned(std::array{key}, true);
  if (!pinned.is_ok()) return report("pin", pinned.status());
  // 0: it was evicted before it was pinned.
  return *pinned == 1 ? tell(what, number) : done;
}

Exit keep(Store& store, std::mt19937& random) {
  const std::uint32_t seed = below(kKept, random);
  const EntryFacts facts = kept_facts(seed);
  const Status put = store.put(facts, kept_image(seed));
  if (!put.is_ok()) return report("put", put);
  // Not looked up here: unused and old as it says it is, it would be the first to be evicted.
  return pin_and_tell(store, facts.key, Told::kept, seed);
}

Exit fill(Store& store, std::mt19937& random) {
  const std::uint32_t seed = kFirstFill + below(kFillSeeds, random);
  const Status put = store.put(disposable_facts(seed), disposable_image(seed));
  if (!put.is_ok()) return report("put", put);
  const std::uint32_t other = kFirstFill + below(kFillSeeds, random);
  const Exit exit = check_image(store, disposable_facts(other).key, disposable_image(other));
  return exit == done ? tell(Told::disposable) : exit;
}

Exit prune(Store& store, std::mt19937& random) {
  PruneQuery query;
  switch (random() % 4) {
    case 0:
      query.unused_for_s = 0;
      break;
    case 1:
      query.template_name = disposable_facts(kFirstFill + below(kFillSeeds, random)).template_name;
      break;
    default:
      query.to_bytes = kKillLimitBytes / 8 * static_cast<std::int64_t>(3 + random() % 4);
  }
  const auto pruned = store.prune(query, false);
  return pruned.is_ok() ? tell(Told::pruned) : report("prune", pruned.status());
}

int change_for_ever(std::string_view role, const std::string& directory, std::uint32_t seed) {
  const auto store = Store::open(directory, StoreMode::read_write, kKillLimitBytes);
  if (!store.is_ok()) return report("open", store.status());
  std::mt19937 random(seed);
  while (true) {
    Exit exit = role == "keep"   ? keep(**store, random)
                : role == "fill" ? fill(**store, random)
                                 : prune(**store, random);
    // As often as a minute's hits are written elsewhere.
    if (exit == done && random() % 8 == 0) {
      if (const Status flushed = (*store)->flush(); !flushed.is_ok())
        exit = report("flush", flushed);
    }
    if (exit != done) return exit;
  }
}

int compile_all(const std::string& directory, const std::string& templates, std::uint32_t seed) {
  const auto engine = open_compiling_engine(directory, templates, true);
  if (engine == nullptr || engine->store() == nullptr) return cannot_open;
  std::vector<std::uint32_t> numbers(kCompiled);
  std::iota(numbers.begin(), numbers.end(), 0U);
  std::shuffle(numbers.begin(), numbers.end(), std::mt19937(seed));
  for (const std::uint32_t number : numbers) {
    if (const Exit exit = tell(Told::compiling, number); exit != done) return exit;
    const auto variant = Variant::parse(engine->catalog(), compiled_spec(number));
    if (!variant.is_ok()) return report("parse", variant.status());
    const auto acquired = engine->acquire(*variant, compiled_target(), AcquireLimit::compile);
    if (!acquired.is_ok()) return report("acquire", acquired.status());
    if (!acquired->is_stored) return call_failed;
    const Exit exit = pin_and_tell(*engine->store(), acquired->kernel->key, Told::compiled, number);
    if (exit != done) return exit;
  }
  return done;
}

}  // namespace

EntryFacts kept_facts(std::uint32_t seed) {
  return keyed_facts(seed, kKeptBytes);
}

std::string kept_image(std::uint32_t seed) {
  return sample_image(seed, kKeptBytes);
}

EntryFacts disposable_facts(std::uint32_t seed) {
  return keyed_facts(seed, kFillBytes);
}

std::string disposable_image(std::uint32_t seed) {
  return sample_image(seed, kFillBytes);
}

void write_compiled_template(const std::string& directory) {
  write_template(directory, kSource);
}

std::string compiled_spec(std::uint32_t number) {
  return fmt::format("copy:count={}", number + 1);
}

const Target& compiled_target() {
  static const Target target = *parse_target("sm_90a");
  return target;
}

std::shared_ptr<Engine> open_compiling_engine(const std::string& directory,
                                              const std::string& templates,
                                              bool use_store) {
  EngineOptions options;
  options.environment.template_path = {templates};
  options.environment.cache_limit_bytes = kKillLimitBytes;
  options.cache_dir = directory;
  options.use_store = use_store;
  auto engine = Engine::open(std::move(options));
  if (engine.is_ok()) return *engine;
  fmt::print(stderr, "engine: {}\n", engine.status().message());
  return nullptr;
}

int play_role(std::string_view role,
              const std::string& directory,
              const std::string& templates,
              std::uint32_t seed) {
  if (role == "compile") return compile_all(directory, templates, seed);
  return change_for_ever(role, directory, seed);
}

}  // namespace kiln::test
