// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine.h"

#include "cache/directory.h"
#include "cache/fork_guard.h"
#include "cache/pack_set.h"
#include "jit/host_limits.h"
#include "jit/options.h"
#include "support/log.h"

#include <chrono>
#include <exception>
#include <new>

namespace kiln {
namespace {

std::int64_t microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() -
                                                               start)
      .count();
}

}  // namespace

std::string_view tier_name(Tier tier) {
  switch (tier) {
    case Tier::memory:
      return "memory hit";
    case Tier::disk:
      return "disk hit";
    case Tier::pack:
      return "pack hit";
    case Tier::compiled:
      return "compiled";
  }
  return "unknown";
}

Engine::Engine(EngineOptions options, Catalog catalog)
    : options_(std::move(options)),
      fork_generation_(ForkGuard::generation()),
      catalog_(std::move(catalog)),
      scheduler_(options_.most_compiles) {}

Result<std::shared_ptr<Engine>> Engine::open(EngineOptions options) {
  KILN_TRY_ASSIGN(Catalog catalog, Catalog::open(options.environment.template_path));
  std::shared_ptr<Engine> engine(new Engine(std::move(options), std::move(catalog)));
  if (engine->options_.use_store) engine->open_store();
  return engine;
}

void Engine::open_store() {
  const Environment& environment = options_.environment;
  const Result<CacheDirectory> directory =
      options_.cache_dir ? CacheDirectory{.path = *options_.cache_dir, .origin = {}}
                         : choose_cache_directory(environment);
  packs_ = std::make_unique<PackSet>(
      pack_places(environment, directory.is_ok() ? std::optional(directory->path) : std::nullopt),
      environment.trust);
  const auto open = [&]() -> Status {
    KILN_TRY_ASSIGN(const CacheDirectory chosen, directory);
    KILN_TRY_ASSIGN(const StorePlace place, place_store(chosen, environment));
    KILN_TRY(prepare_cache_directory(place.directory));
    if (!place.moved_because.empty()) {
      log(LogLevel::warning, "{}; the database is kept in {}", place.moved_because,
          place.directory);
    }
    KILN_TRY_ASSIGN(
        store_, Store::open(place.directory, StoreMode::read_write, environment.cache_limit_bytes));
    build_locks_.emplace(place.directory);
    compile_seats_.emplace(place.directory, usable_cpus());
    return {};
  };
  store_status_ = open();
  if (store_status_.is_ok()) return;
  log(LogLevel::warning, "the cache cannot be used, kernels are kept in memory only: {}",
      store_status_.message());
}

Engine::~Engine() {
  report_memory_hits();
}

Result<Acquired> Engine::acquire(const Variant& variant,
                                 const Target& target,
                                 AcquireLimit limit,
                                 OtherBuilders others) {
  // Another thread may have held any lock, and led any flight, when this process was forked.
  if (ForkGuard::generation() != fork_generation_) {
    return failure(Code::unavailable,
                   "the context was opened before this process was forked; open one here");
  }
  const auto start = std::chrono::steady_clock::now();
  const auto acquired = [start](const Found& found, Tier tier) {
    return Acquired{found.kernel, tier, microseconds_since(start), found.is_stored};
  };
  const std::string name = variant.spec() + "@" + target.text();
  while (true) {
    if (auto found = find_in_memory(name)) {
      ++statistics_.memory_hits;
      ++unreported_memory_hits_;
      return acquired(*found, Tier::memory);
    }
    if (limit == AcquireLimit::memory) {
      return failure(Code::not_ready, "\"{}\" for {} is not in memory", variant.spec(),
                     target.text());
    }

    std::promise<Result<Found>> promise;
    Flight flight;
    bool is_leader = false;
    {
      const std::unique_lock lock(table_mutex_);
      if (table_.contains(name)) continue;
      const auto [place, is_new] = in_flight_.try_emplace(name);
      if (is_new) place->second = {promise.get_future().share(), limit, others};
      flight = place->second;
      is_leader = is_new;
    }
    if (is_leader) {
      const Result<Found> found = lead(name, std::move(promise), variant, target, limit, others);
      if (!found.is_ok()) return found.status();
      return acquired(*found, found->tier);
    }
    if (limit == AcquireLimit::load && flight.limit == AcquireLimit::compile) {
      // Must not wait for a compile: looks on its own.
      KILN_TRY_ASSIGN(const Found found, produce(variant, target, limit, others));
      return acquired(found, found.tier);
    }
    ++statistics_.waits;
    const Result<Found>& outcome = flight.outcome.get();
    if (outcome.is_ok()) {
      ++statistics_.memory_hits;
      ++unreported_memory_hits_;
      return acquired(*outcome, Tier::memory);
    }
    // The leader may have been allowed less than this request is.
    const Code code = outcome.status().code();
    const bool is_limited = code == Code::not_ready && limit != flight.limit;
    const bool is_impatient = code == Code::busy && others != flight.others;
    if (!is_limited && !is_impatient) return outcome.status();
  }
}

// Produces for all who wait. Whatever happens, the flight ends and the waiters get an answer.
Result<Engine::Found> Engine::lead(const std::string& name,
                                   std::promise<Result<Found>> promise,
                                   const Variant& variant,
                                   const Target& target,
                                   AcquireLimit limit,
                                   OtherBuilders others) {
  Result<Found> produced = failure(Code::out_of_memory, "the host is out of memory");
  try {
    produced = produce(variant, target, limit, others);
    const std::unique_lock lock(table_mutex_);
    if (produced.is_ok()) table_.emplace(name, *produced);
  } catch (const std::bad_alloc&) {
    // As `produced` says.
  } catch (const std::exception& error) {
    produced = failure(Code::internal, "unexpected exception: {}", error.what());
  }
  {
    const std::unique_lock lock(table_mutex_);
    in_flight_.erase(name);
  }
  promise.set_value(produced);
  return produced;
}

std::optional<Engine::Found> Engine::find_in_memory(const std::string& name) {
  const std::shared_lock lock(table_mutex_);
  const auto found = table_.find(name);
  if (found == table_.end()) return std::nullopt;
  return found->second;
}

Result<Engine::Found> Engine::produce(const Variant& variant,
                                      const Target& target,
                                      AcquireLimit limit,
                                      OtherBuilders others) {
  KILN_TRY_ASSIGN(const Specialization specialization, specialize(variant, target.capability));
  const Request request{variant, target, specialization,
                        request_fields(variant, specialization, target)};
  if (auto found = find_stored(request)) return *std::move(found);
  if (auto found = find_packed(request)) return *std::move(found);
  if (limit != AcquireLimit::compile) {
    return failure(Code::not_ready, "\"{}\" for {} is not in the cache", variant.spec(),
                   target.text());
  }
  return build_in_turn(request, others);
}

std::optional<Engine::Found> Engine::find_stored(const Request& request) {
  if (store_ == nullptr) return std::nullopt;
  report_memory_hits();
  auto stored =
      look_up(request, [this](LookUp by, const Digest& digest) { return read_store(by, digest); });
  if (!stored) return std::nullopt;
  auto found = load(request, *std::move(stored), Tier::disk);
  if (found) count(statistics_.disk_hits, Counter::disk_hits);
  return found;
}

std::optional<Engine::Found> Engine::find_packed(const Request& request) {
  if (packs_ == nullptr) return std::nullopt;
  auto stored = look_up(
      request, [this](LookUp by, const Digest& digest) { return packs_->find(by, digest); });
  if (!stored) return std::nullopt;
  auto found = load(request, *std::move(stored), Tier::pack);
  if (found) count(statistics_.pack_hits, Counter::pack_hits);
  return found;
}

std::optional<Engine::Found> Engine::load(const Request& request, Store::Found stored, Tier tier) {
  auto artifact = make_artifact(stored.facts, std::move(stored.image));
  if (!artifact.is_ok()) {
    note_store_failure(artifact.status());
    return std::nullopt;
  }
  auto kernel = std::make_shared<const CompiledKernel>(CompiledKernel{
      request.variant, request.specialization, stored.facts.key, std::move(artifact).value()});
  return Found{std::move(kernel), tier, tier == Tier::disk};
}

// By key if the toolchain is known, then by request: under the policy `any`, an entry that another
// NVRTC compiled serves as well.
std::optional<Store::Found> Engine::look_up(const Request& request, const Find& find) {
  const bool is_exact = options_.environment.toolchain == ToolchainPolicy::exact;
  // `exact` has to know; loading NVRTC once writes a memo that later processes use.
  if (is_exact && !known_toolchain() && !nvrtc().is_ok()) return std::nullopt;
  const std::optional<Toolchain> toolchain = known_toolchain();
  if (toolchain) {
    KeyFields fields = request.fields;
    fields.options = compile_options(request.target, toolchain->major, toolchain->minor);
    fields.toolchain = toolchain->text();
    if (auto found = find(LookUp::key, fields.key())) return found;
  }
  if (is_exact) return std::nullopt;
  auto found = find(LookUp::request, request.fields.request());
  if (found && toolchain && found->facts.toolchain != toolchain->text()) {
    count(statistics_.other_toolchain_hits, Counter::other_toolchain_hits);
    log(LogLevel::info, "\"{}\" was compiled by {}", request.variant.spec(),
        found->facts.toolchain);
  }
  return found;
}

std::optional<Store::Found> Engine::read_store(LookUp by, const Digest& digest) {
  bool is_recovered = false;
  auto found = by == LookUp::key ? store_->find(digest, &is_recovered)
                                 : store_->find_request(digest, &is_recovered);
  if (is_recovered) count(statistics_.recovered, std::nullopt);  // the store keeps lifetimes
  if (found.is_ok()) return *std::move(found);
  note_store_failure(found.status());
  return std::nullopt;
}

void Engine::count(std::atomic<std::int64_t>& counter,
                   std::optional<Counter> lifetime,
                   std::int64_t amount) {
  counter += amount;
  if (lifetime && store_ != nullptr) store_->count(*lifetime, amount);
}

void Engine::report_memory_hits() {
  const std::int64_t hits = unreported_memory_hits_.exchange(0);
  if (hits != 0 && store_ != nullptr) store_->count(Counter::memory_hits, hits);
}

void Engine::note_store_failure(const Status& status) {
  ++statistics_.store_failures;
  const bool is_first = !is_store_warned_.exchange(true);
  log(is_first ? LogLevel::warning : LogLevel::debug, "the cache failed, going on without it: {}",
      status.message());
}

}  // namespace kiln
