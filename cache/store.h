// SPDX-License-Identifier: Apache-2.0
#pragma once

// The on-disk store: one SQLite database, shared by all processes of a user. docs/cache-format.md
// has the schema and the promises. Every read is verified before it is returned; a damaged entry is
// dropped and reported as a miss, a damaged database is quarantined and a new one begun.
// Thread-safe (one connection under a lock; nothing is held across a compile). Never compiles.

#include "cache/entry.h"
#include "jit/toolchain.h"
#include "support/digest.h"
#include "support/environment.h"
#include "support/status.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

constexpr int kStoreSchema = 1;

enum class StoreMode {
  read_write,  // creates the database when missing
  inspect,     // for commands that only look: an absent store is empty, nothing is created
};

struct EntryRow {
  EntryFacts facts;
  std::int64_t stored_bytes = 0;
  std::int64_t hits = 0;
  std::int64_t last_used_at = 0;  // Unix time, s; created_at if never
  bool is_pinned = false;         // never evicted, and pruned only if asked for
};

// What an entry is looked for by.
enum class LookUp { key, request };

enum class EntryOrder { last_used, created, image_bytes, compile_us, hits, registers, spec };

// 1 to 64 hexadecimal digits, of either case.
bool is_key_prefix(std::string_view text);

struct EntryQuery {
  std::optional<std::string> template_name = {};
  std::optional<std::string> target = {};
  std::optional<std::string> key_prefix = {};  // hexadecimal
  std::optional<std::string> toolchain_prefix = {};
  EntryOrder order = EntryOrder::last_used;  // numbers and times: largest first; spec: ascending
  std::optional<std::int64_t> limit = {};
};

// What to prune. What is set must all apply; with nothing set, the store's limit does.
struct PruneQuery {
  std::optional<std::int64_t> unused_for_s = {};  // at least; a use in the future is one now
  std::optional<std::string> template_name = {};
  std::optional<std::string> target = {};
  std::optional<std::string> toolchain_prefix = {};
  std::optional<std::int64_t> to_bytes = {};  // the least recently used, until so much is left
  bool all = false;                           // also a quarantined database; nothing else is set
  bool include_pinned = false;
};

// Lifetime counters, kept in the database.
enum class Counter {
  memory_hits,
  disk_hits,
  pack_hits,
  other_toolchain_hits,
  misses,
  compiles,
  compile_failures,
  recovered,
  evicted,
  pruned,
  process_waits,
  process_wait_us,
  lock_timeouts
};
inline constexpr std::array kCounters = {Counter::memory_hits,      Counter::disk_hits,
                                         Counter::pack_hits,        Counter::other_toolchain_hits,
                                         Counter::misses,           Counter::compiles,
                                         Counter::compile_failures, Counter::recovered,
                                         Counter::evicted,          Counter::pruned,
                                         Counter::process_waits,    Counter::process_wait_us,
                                         Counter::lock_timeouts};
std::string_view counter_name(Counter counter);
using Counters = std::map<Counter, std::int64_t>;

class Store {
 public:
  // In read_write mode `directory` is one that prepare_cache_directory() passed. io, busy,
  // unsupported for a database that is not Kiln's, invalid_argument for one that others own or can
  // write, corrupt for a damaged one in inspect mode. Every call is unavailable in a child that was
  // forked while another thread kept a store busy; other children may go on using their parent's.
  // A put makes room so that the files do not exceed `limit_bytes`.
  static Result<std::unique_ptr<Store>> open(const std::string& directory,
                                             StoreMode mode,
                                             std::int64_t limit_bytes = kDefaultCacheLimitBytes);
  ~Store();  // flushes hits and counters
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  struct Found {
    EntryFacts facts;
    std::string image;  // uncompressed
  };
  // nullopt is a miss. `recovered` (optional) is set to true if the miss is due to damage that this
  // call dropped, and counted, entry by entry, as Counter::recovered. A hit is noted for the next
  // flush; it writes nothing.
  Result<std::optional<Found>> find(const Digest& key, bool* recovered = nullptr);
  // The newest verified entry for a request, whoever compiled it.
  Result<std::optional<Found>> find_request(const Digest& request, bool* recovered = nullptr);

  // Replaces an entry with the same key. One transaction, which also evicts what is too much; only
  // a large eviction takes more of them. io (also for a full disk, an image of more than 64 MiB, or
  // an entry that the limit or the pinned entries leave no room for), busy, invalid_argument for
  // facts that contradict the image or are too long.
  Status put(const EntryFacts& facts, std::string_view image);

  // An entry as it is kept, for a copy elsewhere: verified, also against its key fields. nullopt if
  // there is none that is sound. Notes no hit and drops nothing.
  Result<std::optional<StoredEntry>> read(const Digest& key);

  // Facts only, not verified against the image; hits include those that
  // this store has yet to write.
  Result<std::vector<EntryRow>> list(const EntryQuery& query);

  struct Pruned {
    std::vector<EntryRow> entries;  // least recently used first
    std::int64_t freed_bytes = 0;   // estimated by a dry run
  };
  // Bounded transactions, so that others can write meanwhile; what they use in that time stays. A
  // dry run removes nothing. invalid_argument for a query that contradicts itself.
  Result<Pruned> prune(const PruneQuery& query, bool dry_run);

  // How many of the keys have an entry; theirs are pinned, or no longer. One transaction.
  Result<std::int64_t> set_pinned(std::span<const Digest> keys, bool is_pinned);

  void count(Counter counter, std::int64_t amount = 1);  // for the next flush
  Result<Counters> counters();                           // stored plus not yet flushed
  Status flush();

  // Another number whenever another process has written to the database; cheaper than a look-up.
  Result<std::int64_t> version();

  Result<std::vector<ToolchainMemo>> toolchain_memos();
  Status put_toolchain_memo(const ToolchainMemo& memo);

  struct Summary {
    std::string path;  // of the database; it may not exist in inspect mode
    bool exists = false;
    std::int64_t entries = 0;
    std::int64_t image_bytes = 0;   // uncompressed
    std::int64_t stored_bytes = 0;  // compressed
    std::int64_t file_bytes = 0;    // database and write-ahead log
    std::int64_t log_bytes = 0;     // of these, the log
    std::int64_t quarantine_bytes = 0;
    std::int64_t limit_bytes = 0;  // for all of these files together
    std::int64_t quarantined = 0;  // times this object moved a damaged database away
    std::string journal_mode;
  };
  Result<Summary> summary();

  // A row that is not what Kiln stored.
  struct Damage {
    std::string_view table;   // entries, images, usage or verdicts
    std::int64_t row = 0;     // of entries and images: the entry's id; 0 of the others
    std::string key = {};     // hexadecimal; empty if it cannot be read
    std::string spec = {};    // of entries, at most the first KiB; empty if it cannot be read
    std::string reason = {};  // one line
    bool is_dropped = false;  // deleted by this call
  };
  struct Verification {
    bool exists = false;
    std::int64_t entries = 0;          // checked
    std::int64_t damaged_entries = 0;  // of those
    std::int64_t damaged_rows = 0;     // of all tables, entries included
    std::int64_t dropped_rows = 0;
    std::vector<Damage> damage;                // the first kMostDamage of damaged_rows
    std::vector<std::string> database_errors;  // the first lines; empty if the database is sound
    bool is_quarantined = false;  // this object moved a damaged database away, now or when opened

    static constexpr std::size_t kMostDamage = 10000;
    bool is_sound() const { return damaged_rows == 0 && database_errors.empty(); }
  };
  // Checks the database and every row in it, with one entry in memory at a time; other threads and
  // processes go on meanwhile. With `repair`, damaged rows are dropped after another look at them,
  // and a damaged database is quarantined; dropped entries count as Counter::recovered. Without, no
  // damage is an error, and nothing is changed. Damage that opening meets (inspect mode) is
  // open()'s failure. invalid_argument for a repair in inspect mode; busy, io.
  Result<Verification> verify(bool repair);

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kiln
