// SPDX-License-Identifier: Apache-2.0
#pragma once

// Serves requests for kernels: in-process table → store → NVRTC → store. The only place that joins
// jit and cache. Thread-safe; one compile per key however many threads ask. Trouble with the cache
// never fails a request: it is counted, logged once, and the kernel is compiled.
// Knows nothing of devices: DeviceKernels (runtime/kernel.h) load what this returns.

#include "cache/store.h"
#include "jit/compiler.h"
#include "jit/key.h"
#include "jit/scheduler.h"
#include "runtime/statistics.h"
#include "support/environment.h"
#include "templates/catalog.h"
#include "templates/variant.h"

#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>

namespace kiln {

enum class Tier { memory, disk, compiled };
std::string_view tier_name(Tier tier);

// How far a request may go.
enum class AcquireLimit { memory, load, compile };

// A compiled variant, shared by all who asked for it. Immutable.
struct CompiledKernel {
  Variant variant;
  Specialization specialization;
  KeyFields fields;  // toolchain and options as in the entry
  Digest key;
  Artifact artifact;
};

struct Acquired {
  std::shared_ptr<const CompiledKernel> kernel;
  Tier tier = Tier::memory;
  std::int64_t elapsed_us = 0;
  bool is_stored = false;  // the store has it, so another process will find it
};

struct EngineOptions {
  Environment environment;
  int most_compiles = 0;  // at once; 0: as many as cores
  // nullopt: from the environment. Else this directory.
  std::optional<std::string> cache_dir;
  bool use_store = true;  // false: memory only
};

class Engine {
 public:
  // invalid_argument or io for templates that cannot be read. A cache that cannot be used is no
  // failure: see store_status().
  static Result<std::shared_ptr<Engine>> open(EngineOptions options);

  // invalid_argument, not_found, unsupported (target), unavailable (no NVRTC), compile_failed,
  // not_ready (the limit is below what it would take).
  Result<Acquired> acquire(const Variant& variant, const Target& target, AcquireLimit limit);

  const Catalog& catalog() const { return catalog_; }
  const Environment& environment() const { return options_.environment; }
  Store* store() { return store_.get(); }  // nullptr: memory only
  // Why there is no store; ok if there is one, or none was asked for.
  const Status& store_status() const { return store_status_; }
  Statistics statistics() const { return statistics_.read(); }
  // Loads NVRTC if that has not happened yet.
  Result<std::shared_ptr<const Nvrtc>> nvrtc();
  bool is_nvrtc_loaded() const;
  // Most compiles at once.
  int most_compiles() const { return scheduler_.most_at_once(); }

 private:
  struct Found {
    std::shared_ptr<const CompiledKernel> kernel;
    Tier tier;
    bool is_stored;
  };
  Engine(EngineOptions options, Catalog catalog);
  void open_store();
  Result<Found> produce(const Variant& variant, const Target& target, AcquireLimit limit,
                        const Specialization& specialization, KeyFields fields);
  Result<std::optional<Found>> find_stored(const Variant& variant,
                                           const Specialization& specialization,
                                           const KeyFields& fields);
  Result<Found> build(const Variant& variant, const Target& target,
                      const Specialization& specialization, KeyFields fields);
  void note_store_failure(const Status& status);

  EngineOptions options_;
  Catalog catalog_;
  CompileScheduler scheduler_;
  AtomicStatistics statistics_;

  std::unique_ptr<Store> store_;
  Status store_status_;
  std::atomic<bool> store_warned_{false};

  mutable std::mutex nvrtc_mutex_;
  std::shared_ptr<const Nvrtc> nvrtc_;

  std::shared_mutex table_mutex_;  // guards both tables
  std::unordered_map<Digest, Found, DigestHash> table_;  // by request digest
  std::unordered_map<Digest, std::shared_future<Result<Found>>, DigestHash> in_flight_;
};

}  // namespace kiln
