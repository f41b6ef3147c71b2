// SPDX-License-Identifier: Apache-2.0
#include "cache/usage.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace kiln {
namespace {

constexpr char kAddHits[] =
    "INSERT INTO usage (key, hits, last_used_at) "
    "SELECT key, ?2, ?3 FROM entries WHERE key = ?1 "
    "ON CONFLICT (key) DO UPDATE SET hits = hits + excluded.hits, "
    "last_used_at = max(last_used_at, excluded.last_used_at)";
constexpr char kAddCount[] =
    "INSERT INTO counters (name, value) VALUES (?1, ?2) "
    "ON CONFLICT (name) DO UPDATE SET value = value + excluded.value";
constexpr char kReadCount[] = "SELECT value FROM counters WHERE name = ?1";

}  // namespace

std::string_view counter_name(Counter counter) {
  switch (counter) {
    case Counter::memory_hits:
      return "memory_hits";
    case Counter::disk_hits:
      return "disk_hits";
    case Counter::pack_hits:
      return "pack_hits";
    case Counter::other_toolchain_hits:
      return "other_toolchain_hits";
    case Counter::misses:
      return "misses";
    case Counter::compiles:
      return "compiles";
    case Counter::compile_failures:
      return "compile_failures";
    case Counter::recovered:
      return "recovered";
    case Counter::evicted:
      return "evicted";
    case Counter::pruned:
      return "pruned";
    case Counter::process_waits:
      return "process_waits";
    case Counter::process_wait_us:
      return "process_wait_us";
    case Counter::lock_timeouts:
      return "lock_timeouts";
  }
  return "unknown";
}

void Usage::note_hit(const Digest& key, std::int64_t unix_time) {
  Hits& hits = hits_[key];
  ++hits.count;
  hits.last_used_at = std::max(hits.last_used_at, unix_time);
}

Status Usage::write(Connection& connection) const {
  for (const auto& [key, hits] : hits_) {
    KILN_TRY_ASSIGN(Statement add, connection.statement(kAddHits));
    KILN_TRY(add.bind(1, key).bind(2, hits.count).bind(3, hits.last_used_at).run());
  }
  for (const auto& [counter, amount] : counters_) {
    KILN_TRY_ASSIGN(Statement add, connection.statement(kAddCount));
    KILN_TRY(add.bind(1, counter_name(counter)).bind(2, amount).run());
  }
  return {};
}

void Usage::clear() {
  hits_.clear();
  counters_.clear();
}

void Usage::add_to(std::vector<EntryRow>& rows) const {
  for (EntryRow& row : rows) {
    const auto found = hits_.find(row.facts.key);
    if (found == hits_.end()) continue;
    row.hits += found->second.count;
    row.last_used_at = std::max(row.last_used_at, found->second.last_used_at);
  }
}

void Usage::add_to(std::vector<Digest>& keys) const {
  const std::unordered_set<Digest, DigestHash> known(keys.begin(), keys.end());
  for (const auto& [key, hits] : hits_)
    if (!known.contains(key)) keys.push_back(key);
}

void Usage::add_to(Counters& counters) const {
  for (const auto& [counter, amount] : counters_)
    counters[counter] += amount;
}

Status read_counters(Connection& connection, Counters& counters) {
  for (const Counter counter : kCounters) {
    KILN_TRY_ASSIGN(Statement read, connection.statement(kReadCount));
    KILN_TRY_ASSIGN(const bool has_row, read.bind(1, counter_name(counter)).step());
    counters[counter] = has_row ? read.integer(0) : 0;
  }
  return {};
}

}  // namespace kiln
