// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine.h"

#include "cache/directory.h"
#include "cache/fork_guard.h"
#include "jit/options.h"
#include "support/log.h"

#include <chrono>
#include <ctime>
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
  const auto open = [this]() -> Result<std::unique_ptr<Store>> {
    std::string directory;
    if (options_.cache_dir) {
      directory = *options_.cache_dir;
    } else {
      KILN_TRY_ASSIGN(CacheDirectory chosen, choose_cache_directory(options_.environment));
      directory = std::move(chosen.path);
    }
    KILN_TRY(prepare_cache_directory(directory));
    return Store::open(directory, StoreMode::read_write, options_.environment.cache_limit_bytes);
  };
  auto opened = open();
  if (opened.is_ok()) {
    store_ = std::move(opened).value();
    return;
  }
  store_status_ = opened.status();
  log(LogLevel::warning, "the cache cannot be used, kernels are kept in memory only: {}",
      store_status_.message());
}

Engine::~Engine() {
  report_memory_hits();
}

Result<Acquired> Engine::acquire(const Variant& variant, const Target& target, AcquireLimit limit) {
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
      if (is_new) place->second = {promise.get_future().share(), limit};
      flight = place->second;
      is_leader = is_new;
    }
    if (is_leader) {
      const Result<Found> found = lead(name, std::move(promise), variant, target, limit);
      if (!found.is_ok()) return found.status();
      return acquired(*found, found->tier);
    }
    if (limit == AcquireLimit::load && flight.limit == AcquireLimit::compile) {
      // Must not wait for a compile: looks on its own.
      KILN_TRY_ASSIGN(const Found found, produce(variant, target, limit));
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
    if (limit == flight.limit || outcome.status().code() != Code::not_ready) {
      return outcome.status();
    }
  }
}

// Produces for all who wait. Whatever happens, the flight ends and the waiters get an answer.
Result<Engine::Found> Engine::lead(const std::string& name,
                                   std::promise<Result<Found>> promise,
                                   const Variant& variant,
                                   const Target& target,
                                   AcquireLimit limit) {
  Result<Found> produced = failure(Code::out_of_memory, "the host is out of memory");
  try {
    produced = produce(variant, target, limit);
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
                                      AcquireLimit limit) {
  KILN_TRY_ASSIGN(const Specialization specialization, specialize(variant, target.capability));
  const Request request{variant, target, specialization,
                        request_fields(variant, specialization, target)};
  if (auto found = find_stored(request)) {
    count(statistics_.disk_hits, Counter::disk_hits);
    return *std::move(found);
  }
  if (limit != AcquireLimit::compile) {
    return failure(Code::not_ready, "\"{}\" for {} is not in the cache", variant.spec(),
                   target.text());
  }
  count(statistics_.misses, Counter::misses);
  Result<Found> built = build(request);
  if (built.is_ok()) {
    count(statistics_.compiles, Counter::compiles);
  } else if (built.status().code() == Code::compile_failed) {
    count(statistics_.compile_failures, Counter::compile_failures);
  }
  return built;
}

std::optional<Engine::Found> Engine::find_stored(const Request& request) {
  if (store_ == nullptr) return std::nullopt;
  report_memory_hits();
  auto stored = read_store(request);
  if (!stored) return std::nullopt;
  auto artifact = make_artifact(stored->facts, std::move(stored->image));
  if (!artifact.is_ok()) {
    note_store_failure(artifact.status());
    return std::nullopt;
  }
  auto kernel = std::make_shared<const CompiledKernel>(CompiledKernel{
      request.variant, request.specialization, stored->facts.key, std::move(artifact).value()});
  return Found{std::move(kernel), Tier::disk, true};
}

// By key if the toolchain is known, then by request: under the policy `any`, an entry that another
// NVRTC compiled serves as well.
std::optional<Store::Found> Engine::read_store(const Request& request) {
  bool is_recovered = false;
  const auto unless_failed =
      [&](Result<std::optional<Store::Found>> found) -> std::optional<Store::Found> {
    if (is_recovered) count(statistics_.recovered, std::nullopt);  // the store keeps lifetimes
    is_recovered = false;
    if (found.is_ok()) return std::move(found).value();
    note_store_failure(found.status());
    return std::nullopt;
  };
  const bool is_exact = options_.environment.toolchain == ToolchainPolicy::exact;
  // `exact` has to know; loading NVRTC once writes a memo that later processes use.
  if (is_exact && !known_toolchain() && !nvrtc().is_ok()) return std::nullopt;
  const std::optional<Toolchain> toolchain = known_toolchain();
  if (toolchain) {
    KeyFields fields = request.fields;
    fields.options = compile_options(request.target, toolchain->major, toolchain->minor);
    fields.toolchain = toolchain->text();
    if (auto found = unless_failed(store_->find(fields.key(), &is_recovered))) return found;
  }
  if (is_exact) return std::nullopt;
  auto found = unless_failed(store_->find_request(request.fields.request(), &is_recovered));
  if (found && toolchain && found->facts.toolchain != toolchain->text()) {
    count(statistics_.other_toolchain_hits, std::nullopt);
    log(LogLevel::info, "\"{}\" was compiled by {}", request.variant.spec(),
        found->facts.toolchain);
  }
  return found;
}

Result<Engine::Found> Engine::build(const Request& request) {
  KILN_TRY_ASSIGN(const auto nvrtc, this->nvrtc());
  KeyFields fields = request.fields;
  fields.options = compile_options(request.target, nvrtc->major(), nvrtc->minor());
  fields.toolchain = nvrtc->toolchain().text();
  const CompileRequest compile_request{
      .sources = &request.variant.source().sources,
      .name_expression = request.specialization.name_expression,
      .target = request.target,
      .options = fields.options,
      .allow_spills = may_spill(request.variant),
  };
  const auto compile_in_turn = [&] {
    const CompileScheduler::Slot slot(scheduler_);
    return compile(*nvrtc, compile_request);
  };
  KILN_TRY_ASSIGN(Artifact artifact, compile_in_turn());
  auto kernel = std::make_shared<const CompiledKernel>(
      CompiledKernel{request.variant, request.specialization, fields.key(), std::move(artifact)});
  const bool is_stored = save(request, *kernel, fields);
  return Found{std::move(kernel), Tier::compiled, is_stored};
}

bool Engine::save(const Request& request, const CompiledKernel& kernel, const KeyFields& fields) {
  if (store_ == nullptr) return false;
  const EntryFacts facts =
      make_facts(kernel.key, fields.request(), request.variant.manifest().name,
                 request.variant.spec(), fields.to_json(), kernel.artifact, std::time(nullptr));
  const Status status = store_->put(facts, kernel.artifact.image);
  if (!status.is_ok()) note_store_failure(status);
  return status.is_ok();
}

void Engine::count(std::atomic<std::int64_t>& counter, std::optional<Counter> lifetime) {
  ++counter;
  if (lifetime && store_ != nullptr) store_->count(*lifetime);
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
