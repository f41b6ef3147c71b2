// SPDX-License-Identifier: Apache-2.0
#pragma once

// What leaves a store, and in which order. Everything here works on the caller's connection:
// choices are made outside of a write transaction, and removals, which look again, take a bounded
// part of them within one, so that a large store locks nobody out for long. Knows nothing of files
// and locks.

#include "cache/connection.h"
#include "cache/last_use.h"
#include "support/digest.h"
#include "support/status.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kiln {

struct PageUse {
  std::int64_t used_bytes = 0;  // pages that hold something
  std::int64_t file_bytes = 0;  // all pages: the file's size after a checkpoint
};
Result<PageUse> page_use(Connection& connection);

// Within the caller's transaction: gives free pages back, at most 64 MiB of them. The file gets
// smaller at the next checkpoint.
Status give_back_pages(Connection& connection);

// Takes entries away in the order given, with all that is known about their keys.
class Removal {
 public:
  static constexpr std::size_t kMostAtOnce = 512;

  Removal() = default;
  Removal(std::vector<Candidate> candidates, bool include_pinned)
      : candidates_(std::move(candidates)), include_pinned_(include_pinned) {}

  // Within the caller's transaction: the next part, until at most `target_bytes` are in use (0:
  // all). Starts over where the last commit() left off.
  Status run(Connection& connection, std::int64_t target_bytes);
  // Called once the transaction has been committed.
  void commit();

  // Nothing is left for another run, once this one is committed.
  bool is_exhausted() const { return next_ == candidates_.size(); }
  const std::vector<Digest>& removed() const { return removed_; }  // and committed

 private:
  std::vector<Candidate> candidates_;
  bool include_pinned_ = false;
  std::size_t position_ = 0;
  std::size_t next_ = 0;
  std::vector<Digest> removed_;
  std::vector<Digest> removed_now_;
};

// What is not as it should be in what is known about use: bounded lists, taken up bit by bit.
struct Leftovers {
  std::vector<Digest> ahead;    // keys used in the future: by a clock that was wrong
  std::vector<Digest> orphans;  // keys whose entry is gone
};
Result<Leftovers> read_leftovers(Connection& connection, std::int64_t now);
// Within the caller's transaction. What was used in the future was used at `now`, and ages from
// there; what is known about entries that are gone is dropped, but for pins.
Status tidy(Connection& connection, const Leftovers& leftovers, std::int64_t now);

// Keeps a store within its limit while one entry is put.
class Eviction {
 public:
  // Transactions after that of the put.
  static constexpr int kMostRounds = 16;

  Eviction(std::int64_t limit_bytes, const Digest& kept) : limit_bytes_(limit_bytes), kept_(kept) {}

  // Outside of a write transaction: chooses what may go, least recently used first; a time in the
  // future counts as `now`. io if `needed_bytes` do not fit beside what is pinned.
  Status survey(Connection& connection, std::int64_t needed_bytes, std::int64_t now);
  bool is_surveyed() const { return is_surveyed_; }

  // Within a transaction, the first time that of the put: if more than the limit is in use, removes
  // entries until 90 % of it are, as far as one transaction may go. io, the first time, if nothing
  // is left to remove and the limit is exceeded nevertheless.
  Status run(Connection& connection);
  void commit();

  // Removed for good, so far.
  std::int64_t evicted() const { return std::ssize(removal_.removed()); }

  // Whether another transaction could bring the store closer to where it should be.
  bool is_done() const { return !is_over_ || (is_surveyed_ && removal_.is_exhausted()); }

 private:
  std::int64_t limit_bytes_;
  Digest kept_;
  Removal removal_;
  Leftovers leftovers_;
  std::int64_t surveyed_at_ = 0;
  bool is_surveyed_ = false;
  bool is_complete_ = false;  // there were no more candidates than were taken up
  bool is_over_ = false;
  bool is_put_ = false;  // the put's transaction has been committed
};

}  // namespace kiln
