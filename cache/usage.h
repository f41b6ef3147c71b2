// SPDX-License-Identifier: Apache-2.0
#pragma once

// What changes by use: hits and last use of entries, and the lifetime counters. Gathered in memory
// and written now and then, so that a hit writes nothing. Not thread-safe. Takes the time from its
// caller.

#include "cache/connection.h"
#include "cache/store.h"
#include "support/digest.h"
#include "support/status.h"

#include <chrono>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace kiln {

class Usage {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kInterval{60};

  explicit Usage(Clock::time_point now) : written_at_(now) {}

  void note_hit(const Digest& key, std::int64_t unix_time);
  void count(Counter counter, std::int64_t amount) {
    if (amount != 0) counters_[counter] += amount;
  }

  bool is_empty() const { return hits_.empty() && counters_.empty(); }
  // Whether something has waited for an interval.
  bool is_due(Clock::time_point now) const { return !is_empty() && now - written_at_ >= kInterval; }
  // Whatever becomes of the attempt, the next one is due an interval later.
  void note_attempt(Clock::time_point now) { written_at_ = now; }

  // Within the caller's transaction. Hits of entries that are gone are dropped.
  Status write(Connection& connection) const;
  void clear();

  // Adds what has not been written.
  void add_to(std::vector<EntryRow>& rows) const;
  void add_to(std::vector<Digest>& keys) const;  // those used, each once
  void add_to(Counters& counters) const;

 private:
  struct Hits {
    std::int64_t count = 0;
    std::int64_t last_used_at = 0;
  };

  std::unordered_map<Digest, Hits, DigestHash> hits_;
  Counters counters_;
  Clock::time_point written_at_;
};

// Every counter; those never written are 0.
Status read_counters(Connection& connection, Counters& counters);

}  // namespace kiln
