// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a store is made of. Only the files that implement Store include this; every call holds the
// lock of `guard` while it uses the rest.

#include "cache/database.h"
#include "cache/entry_table.h"
#include "cache/eviction.h"
#include "cache/fork_guard.h"
#include "cache/store.h"
#include "cache/usage.h"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace kiln {

std::int64_t unix_time();

struct Store::Impl {
  Impl(const std::string& directory, StoreMode store_mode, std::int64_t store_limit_bytes)
      : mode(store_mode),
        limit_bytes(store_limit_bytes),
        database(directory, store_mode),
        usage(Usage::Clock::now()) {}

  using FindResult = Result<std::optional<Found>>;
  FindResult find(LookUp by, const Digest& digest, bool* recovered);
  Status drop_damaged(LookUp by, const Digest& digest, Found& found, bool& is_found);
  void note_damage(std::string_view what);
  Status flush(std::chrono::milliseconds patience);
  void flush_if_due();
  // invalid_argument in inspect mode.
  Status check_writable() const;

  // Before a put of about `entry_bytes`: if they may not fit, drops what was quarantined, then
  // chooses what is to go. io if they cannot fit.
  Status make_room(Eviction& eviction, std::int64_t entry_bytes);
  // One more transaction of an eviction.
  Status evict_more(Eviction& eviction);
  // Drops what was quarantined if it would exceed `most_bytes` together with `used_bytes`.
  Status limit_quarantine(std::int64_t used_bytes, std::int64_t most_bytes) const;
  // Puts the log into the file and cuts both off, unless somebody reads an older state.
  Status empty_log(std::chrono::milliseconds patience);
  // After a put: the files on disk are within the limit, as far as they can be.
  void settle();
  // Of database and log.
  std::int64_t file_bytes() const;

  const StoreMode mode;
  const std::int64_t limit_bytes;
  std::mutex mutex;  // guards all below
  Database database;
  Usage usage;
  bool has_warned = false;
  // Last, so that nothing above is gone while a fork may still come by.
  ForkGuard guard{mutex, [this] {
                    database.let_go();
                    usage.clear();  // the parent writes it
                  }};
};

}  // namespace kiln
