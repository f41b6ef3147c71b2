// SPDX-License-Identifier: Apache-2.0
#pragma once

// Serves requests for kernels: in-process table → store → packs → NVRTC → store. The only place
// that joins jit and cache. Thread-safe; one compile per variant and target however many threads
// and processes ask. Trouble with the cache never fails a request: it is counted, logged once, and
// the kernel is compiled. Knows nothing of devices: runtime/kernel.h loads what this returns.

#include "cache/build_locks.h"
#include "cache/compile_seats.h"
#include "cache/store.h"
#include "jit/compiler.h"
#include "jit/key.h"
#include "jit/scheduler.h"
#include "runtime/statistics.h"
#include "support/environment.h"
#include "templates/catalog.h"
#include "templates/variant.h"

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace kiln {

enum class Tier { memory, disk, pack, compiled };
std::string_view tier_name(Tier tier);

// How far a request may go: the in-process table, store and packs, or NVRTC.
enum class AcquireLimit { memory, load, compile };

// What a request does while another process compiles for the same one: waits for as long as
// KILN_LOCK_TIMEOUT_MS says and then compiles on its own, or fails as busy at once.
enum class OtherBuilders { wait, skip };

// A compiled variant, shared by all who asked for it. Immutable.
struct CompiledKernel {
  Variant variant;
  Specialization specialization;
  Digest key;
  Artifact artifact;
};

struct Acquired {
  std::shared_ptr<const CompiledKernel> kernel;
  Tier tier = Tier::memory;
  std::int64_t elapsed_us = 0;
  bool is_stored = false;  // another process will find it in the store
};

struct EngineOptions {
  Environment environment;
  std::optional<std::string> cache_dir = {};  // nullopt: as the environment says
  bool use_store = true;                      // false: memory only, and no packs
  int most_compiles = 0;                      // at once; 0: as many as cores
};

class PackSet;

class Engine {
 public:
  // A cache that cannot be used is no failure: see store_status(). invalid_argument, not_found or
  // io for user templates that cannot be read.
  static Result<std::shared_ptr<Engine>> open(EngineOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // unsupported (target), unavailable (no NVRTC, or a process forked since), compile_failed,
  // not_ready (`limit` is below what it would take), busy (another process compiles, `others` is
  // skip). A failure is given to all who wait for it, and not remembered.
  Result<Acquired> acquire(const Variant& variant,
                           const Target& target,
                           AcquireLimit limit,
                           OtherBuilders others = OtherBuilders::wait);

  const Catalog& catalog() const { return catalog_; }
  Store* store() { return store_.get(); }  // nullptr: memory only
  // Why there is no store; ok if there is one, or none was asked for.
  const Status& store_status() const { return store_status_; }
  Statistics statistics() const { return statistics_.read(); }
  // Loads NVRTC if that has not happened yet.
  Result<std::shared_ptr<const Nvrtc>> nvrtc();
  bool is_nvrtc_loaded() const;
  int most_compiles() const { return scheduler_.most_at_once(); }

 private:
  struct Found {
    std::shared_ptr<const CompiledKernel> kernel;
    Tier tier;
    bool is_stored;
  };
  struct Request {
    const Variant& variant;
    const Target& target;
    const Specialization& specialization;
    KeyFields fields;  // without options and toolchain
  };
  struct Flight {
    std::shared_future<Result<Found>> outcome;
    AcquireLimit limit = AcquireLimit::compile;  // of the request that leads it
    OtherBuilders others = OtherBuilders::wait;  // likewise
  };

  Engine(EngineOptions options, Catalog catalog);
  void open_store();
  std::optional<Found> find_in_memory(const std::string& name);
  Result<Found> lead(const std::string& name,
                     std::promise<Result<Found>> promise,
                     const Variant& variant,
                     const Target& target,
                     AcquireLimit limit,
                     OtherBuilders others);
  Result<Found> produce(const Variant& variant,
                        const Target& target,
                        AcquireLimit limit,
                        OtherBuilders others);
  using Find = std::function<std::optional<Store::Found>(LookUp, const Digest&)>;
  std::optional<Found> find_stored(const Request& request);
  std::optional<Found> find_packed(const Request& request);
  std::optional<Store::Found> look_up(const Request& request, const Find& find);
  std::optional<Store::Found> read_store(LookUp by, const Digest& digest);
  std::optional<Found> load(const Request& request, Store::Found stored, Tier tier);
  class Turn;
  class Wait;
  // busy: another process builds it. Empty if locks do not work: then this one builds unannounced.
  Result<Turn> take_turn(const Digest& request);
  Result<Found> build_in_turn(const Request& request, OtherBuilders others);
  Result<Found> build(const Request& request);
  Result<Found> compile_and_save(const Request& request);
  bool save(const Request& request, const CompiledKernel& kernel, const KeyFields& fields);
  // What compiles here, if that can be told without loading it.
  std::optional<Toolchain> known_toolchain();
  void count(std::atomic<std::int64_t>& counter,
             std::optional<Counter> lifetime,
             std::int64_t amount = 1);
  // Hands the memory hits since the last time to the store.
  void report_memory_hits();
  void note_store_failure(const Status& status);

  EngineOptions options_;
  const std::uint32_t fork_generation_;
  Catalog catalog_;
  CompileScheduler scheduler_;
  AtomicStatistics statistics_;
  // Apart from the store, whose lock may be held across a write to disk.
  std::atomic<std::int64_t> unreported_memory_hits_{0};

  std::unique_ptr<Store> store_;  // without it, none of the next two either
  std::optional<BuildLocks> build_locks_;
  std::optional<CompileSeats> compile_seats_;
  std::unique_ptr<PackSet> packs_;
  Status store_status_;
  std::atomic<bool> is_store_warned_{false};

  mutable std::mutex nvrtc_mutex_;
  std::shared_ptr<const Nvrtc> nvrtc_;
  bool are_memos_read_ = false;
  std::optional<std::string> remembered_path_;
  std::optional<Toolchain> remembered_;

  std::shared_mutex table_mutex_;  // guards the two below; never held across a look-up or a compile
  std::unordered_map<std::string, Found> table_;  // by canonical spec and target
  std::unordered_map<std::string, Flight> in_flight_;
};

}  // namespace kiln
