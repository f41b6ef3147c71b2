// SPDX-License-Identifier: Apache-2.0
#include "cache/last_use.h"

#include <algorithm>
#include <tuple>

namespace kiln {
namespace {

// Both by the index of entries, which has all that they need of these.
#define KILN_BY_CREATION                                                                       \
  "SELECT key, created_at, coalesce(last_used_at, 0), coalesce(hits, 0), "                     \
  "coalesce(pinned, 0), id FROM entries INDEXED BY entries_by_creation LEFT JOIN usage USING " \
  "(key) "
constexpr char kOldestFirst[] = KILN_BY_CREATION "WHERE created_at <= ?1 ORDER BY created_at";
constexpr char kCreatedAhead[] = KILN_BY_CREATION "WHERE created_at > ?1";

// CROSS JOIN: in this order. Use outlives the entry.
constexpr char kLastUsed[] =
    "SELECT usage.key FROM usage INDEXED BY usage_by_time CROSS JOIN entries USING (key) "
    "ORDER BY last_used_at DESC, usage.key LIMIT ?1";
constexpr char kLastCreated[] =
    "SELECT key FROM entries INDEXED BY entries_by_creation ORDER BY created_at DESC, key LIMIT ?1";

struct Ranked {
  // Last use of those that are not ahead, last use, hits, id.
  std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t> rank;
  Candidate candidate;
  bool operator<(const Ranked& other) const { return rank < other.rank; }
};

// The least of what it is shown.
class Least {
 public:
  Least(std::int64_t now, std::size_t most) : now_(now), most_(most) {}

  void show(const Statement& row) {
    const std::int64_t created_at = row.integer(1);
    const std::int64_t used_at = row.integer(2);
    const bool is_pinned = row.integer(4) != 0;
    Ranked ranked{.rank = {}, .candidate = {.key = {}, .last_used_at = used_at}};
    // A key that is none is left by damage.
    if (is_pinned || !row.digest(0, ranked.candidate.key)) return;
    // A creation in the future says nothing if there is a use to go by.
    const bool is_use_alone = created_at > now_ && used_at > 0;
    const std::int64_t last_use = is_use_alone ? used_at : std::max(used_at, created_at);
    ranked.rank = {std::min(last_use, now_), last_use, row.integer(3), row.integer(5)};
    if (is_full()) {
      if (!(ranked < heap_.front())) return;
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.back() = ranked;
    } else {
      heap_.push_back(ranked);
    }
    std::push_heap(heap_.begin(), heap_.end());
  }

  // Whether no entry that was created after `time` and before now can belong to them.
  bool has_all_before(std::int64_t time) const {
    return is_full() && time > std::get<0>(heap_.front().rank);
  }

  std::vector<Candidate> candidates() && {
    std::sort_heap(heap_.begin(), heap_.end());
    std::vector<Candidate> candidates;
    candidates.reserve(heap_.size());
    for (const Ranked& ranked : heap_)
      candidates.push_back(ranked.candidate);
    return candidates;
  }

 private:
  bool is_full() const { return heap_.size() == most_; }

  std::int64_t now_;
  std::size_t most_;
  std::vector<Ranked> heap_;  // the greatest in front
};

Status read_keys(Connection& connection,
                 const char* sql,
                 std::int64_t most,
                 std::vector<Digest>& keys) {
  KILN_TRY_ASSIGN(Statement query, connection.statement(sql));
  query.bind(1, most);
  while (true) {
    KILN_TRY_ASSIGN(const bool has_row, query.step());
    if (!has_row) return {};
    Digest key;
    if (query.digest(0, key)) keys.push_back(key);
  }
}

}  // namespace

Result<std::vector<Candidate>> least_recently_used(Connection& connection,
                                                   std::int64_t now,
                                                   std::size_t most) {
  Least least(now, most);
  for (const char* sql : {kOldestFirst, kCreatedAhead}) {
    KILN_TRY_ASSIGN(Statement query, connection.statement(sql));
    query.bind(1, now);
    while (true) {
      KILN_TRY_ASSIGN(const bool has_row, query.step());
      // Nobody is used before being created, unless that is in the future.
      if (!has_row || (sql == kOldestFirst && least.has_all_before(query.integer(1)))) break;
      least.show(query);
    }
  }
  return std::move(least).candidates();
}

Result<std::vector<Digest>> most_recently_used(Connection& connection, std::int64_t most) {
  // Who is among the last by the later of two times is among the last by that time.
  std::vector<Digest> keys;
  for (const char* sql : {kLastUsed, kLastCreated})
    KILN_TRY(read_keys(connection, sql, most, keys));
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace kiln
