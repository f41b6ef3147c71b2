// SPDX-License-Identifier: Apache-2.0
#include "cache/eviction.h"

#include "cache/entry_table.h"
#include "support/text.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace kiln {
namespace {

constexpr std::int64_t kMostBytesAtOnce = std::int64_t{64} << 20;
constexpr std::size_t kMostCandidates = Eviction::kMostRounds * Removal::kMostAtOnce;
constexpr std::int64_t kMostLeftovers = 2048;
// Where an eviction ends, so that not every put begins one.
constexpr std::int64_t kTargetPercent = 90;

constexpr char kPageCount[] = "PRAGMA page_count";
constexpr char kFreeCount[] = "PRAGMA freelist_count";
constexpr char kPageSize[] = "PRAGMA page_size";
constexpr char kGiveBack[] = "PRAGMA incremental_vacuum(16384)";  // of 4 KiB: kMostBytesAtOnce

constexpr char kPinnedBytes[] =
    "SELECT coalesce(sum(length(image)), 0) FROM usage INDEXED BY usage_pinned "
    "CROSS JOIN entries USING (key) JOIN images ON entry = id WHERE pinned != 0";
constexpr char kRemovable[] =
    "SELECT id FROM entries LEFT JOIN usage USING (key) WHERE key = ?1 "
    "AND (?2 OR coalesce(pinned, 0) = 0) AND coalesce(last_used_at, 0) <= ?3";
constexpr char kDeleteUsage[] = "DELETE FROM usage WHERE key = ?1";
constexpr char kDeleteVerdicts[] = "DELETE FROM verdicts WHERE key = ?1";

constexpr char kUsedAhead[] = "SELECT key FROM usage WHERE last_used_at > ?2 LIMIT ?1";
constexpr char kCreatedAhead[] =
    "SELECT key FROM entries LEFT JOIN usage USING (key) "
    "WHERE id IN (SELECT id FROM entries WHERE created_at > ?2) "
    "AND coalesce(last_used_at, 0) = 0 LIMIT ?1";
// Nobody uses what is gone, so sooner or later it is among what was not used for the longest time.
constexpr char kUsageOrphans[] =
    "SELECT key FROM (SELECT key FROM usage WHERE pinned = 0 ORDER BY last_used_at LIMIT 4096) "
    "AS oldest WHERE NOT EXISTS (SELECT 1 FROM entries WHERE entries.key = oldest.key) LIMIT ?1";
constexpr char kVerdictOrphans[] =
    "SELECT DISTINCT key FROM verdicts "
    "WHERE NOT EXISTS (SELECT 1 FROM entries WHERE entries.key = verdicts.key) LIMIT ?1";
constexpr char kUseAtPresent[] =
    "INSERT INTO usage (key, last_used_at) SELECT key, ?2 FROM entries WHERE key = ?1 "
    "ON CONFLICT (key) DO UPDATE SET last_used_at = excluded.last_used_at";
constexpr char kDropUsage[] =
    "DELETE FROM usage WHERE key = ?1 AND pinned = 0 "
    "AND NOT EXISTS (SELECT 1 FROM entries WHERE entries.key = ?1)";
constexpr char kDropVerdicts[] =
    "DELETE FROM verdicts WHERE key = ?1 "
    "AND NOT EXISTS (SELECT 1 FROM entries WHERE entries.key = ?1)";

Status read_keys(Connection& connection,
                 const char* sql,
                 std::optional<std::int64_t> now,
                 std::vector<Digest>& keys) {
  KILN_TRY_ASSIGN(Statement query, connection.statement(sql));
  query.bind(1, kMostLeftovers);
  if (now) query.bind(2, *now);
  while (true) {
    KILN_TRY_ASSIGN(const bool has_row, query.step());
    if (!has_row) return {};
    Digest key;
    if (query.digest(0, key)) keys.push_back(key);  // none is left by damage
  }
}

// false if the entry is gone, was used meanwhile, or is pinned.
Result<bool> remove(Connection& connection, const Candidate& candidate, bool include_pinned) {
  std::optional<std::int64_t> id;
  {
    KILN_TRY_ASSIGN(Statement query, connection.statement(kRemovable));
    query.bind(1, candidate.key).bind(2, std::int64_t{include_pinned});
    KILN_TRY_ASSIGN(const bool has_row, query.bind(3, candidate.last_used_at).step());
    if (has_row) id = query.integer(0);
  }
  if (!id) return false;
  KILN_TRY(delete_entry(connection, *id));
  for (const char* sql : {kDeleteUsage, kDeleteVerdicts}) {
    KILN_TRY_ASSIGN(Statement statement, connection.statement(sql));
    KILN_TRY(statement.bind(1, candidate.key).run());
  }
  return true;
}

}  // namespace

Result<PageUse> page_use(Connection& connection) {
  KILN_TRY_ASSIGN(const std::int64_t pages, read_integer(connection, kPageCount));
  KILN_TRY_ASSIGN(const std::int64_t free, read_integer(connection, kFreeCount));
  KILN_TRY_ASSIGN(const std::int64_t size, read_integer(connection, kPageSize));
  // Both stand in the header; one page at least is in use.
  if (free < 0 || free >= std::max<std::int64_t>(pages, 1)) {
    return failure(Code::corrupt, "{} of its {} pages are said to be free", free, pages);
  }
  return PageUse{.used_bytes = (pages - free) * size, .file_bytes = pages * size};
}

Status give_back_pages(Connection& connection) {
  KILN_TRY_ASSIGN(Statement statement, connection.statement(kGiveBack));
  return statement.run();  // one step a page
}

Status Removal::run(Connection& connection, std::int64_t target_bytes) {
  next_ = position_;
  removed_now_.clear();
  const std::size_t end = std::min(candidates_.size(), position_ + kMostAtOnce);
  KILN_TRY_ASSIGN(PageUse use, page_use(connection));
  const std::int64_t least_bytes = use.used_bytes - kMostBytesAtOnce;
  while (next_ < end && use.used_bytes > std::max(target_bytes, least_bytes)) {
    const Candidate& candidate = candidates_[next_];
    KILN_TRY_ASSIGN(const bool is_removed, remove(connection, candidate, include_pinned_));
    ++next_;
    if (!is_removed) continue;
    removed_now_.push_back(candidate.key);
    KILN_TRY_ASSIGN(use, page_use(connection));
  }
  return {};
}

void Removal::commit() {
  position_ = next_;
  std::move(removed_now_.begin(), removed_now_.end(), std::back_inserter(removed_));
  removed_now_.clear();
}

Result<Leftovers> read_leftovers(Connection& connection, std::int64_t now) {
  Leftovers leftovers;
  KILN_TRY(read_keys(connection, kUsedAhead, now, leftovers.ahead));
  KILN_TRY(read_keys(connection, kCreatedAhead, now, leftovers.ahead));
  KILN_TRY(read_keys(connection, kUsageOrphans, {}, leftovers.orphans));
  KILN_TRY(read_keys(connection, kVerdictOrphans, {}, leftovers.orphans));
  return leftovers;
}

Status tidy(Connection& connection, const Leftovers& leftovers, std::int64_t now) {
  for (const Digest& key : leftovers.ahead) {
    KILN_TRY_ASSIGN(Statement statement, connection.statement(kUseAtPresent));
    KILN_TRY(statement.bind(1, key).bind(2, now).run());
  }
  for (const char* sql : {kDropUsage, kDropVerdicts}) {
    for (const Digest& key : leftovers.orphans) {
      KILN_TRY_ASSIGN(Statement statement, connection.statement(sql));
      KILN_TRY(statement.bind(1, key).run());
    }
  }
  return {};
}

Status Eviction::survey(Connection& connection, std::int64_t needed_bytes, std::int64_t now) {
  KILN_TRY_ASSIGN(const std::int64_t pinned_bytes, read_integer(connection, kPinnedBytes));
  if (needed_bytes > limit_bytes_ - pinned_bytes) {
    return failure(Code::io, "the entry takes {} bytes; the limit is {}, of which {} are pinned",
                   needed_bytes, exact_bytes_text(limit_bytes_), pinned_bytes);
  }
  KILN_TRY_ASSIGN(std::vector<Candidate> candidates,
                  least_recently_used(connection, now, kMostCandidates));
  is_complete_ = candidates.size() < kMostCandidates;
  std::erase_if(candidates, [&](const Candidate& c) { return c.key == kept_; });
  removal_ = Removal(std::move(candidates), false);
  KILN_TRY_ASSIGN(leftovers_, read_leftovers(connection, now));
  surveyed_at_ = now;
  is_surveyed_ = true;
  return {};
}

Status Eviction::run(Connection& connection) {
  KILN_TRY_ASSIGN(PageUse use, page_use(connection));
  is_over_ = use.used_bytes > limit_bytes_ || is_put_;
  if (is_over_ && is_surveyed_) {
    const std::int64_t target_bytes = limit_bytes_ / 100 * kTargetPercent;
    KILN_TRY(removal_.run(connection, target_bytes));
    KILN_TRY(tidy(connection, leftovers_, surveyed_at_));
    KILN_TRY_ASSIGN(use, page_use(connection));
    if (!is_put_ && use.used_bytes > limit_bytes_ && is_complete_ && removal_.is_exhausted()) {
      return failure(Code::io, "the entry does not fit the limit of {}: {} bytes would remain",
                     exact_bytes_text(limit_bytes_), use.used_bytes);
    }
    is_over_ = use.used_bytes > target_bytes;
  }
  // Elsewhere free pages serve the next put.
  const bool should_shrink = use.file_bytes > limit_bytes_ || is_surveyed_;
  return should_shrink && use.file_bytes > use.used_bytes ? give_back_pages(connection) : Status();
}

void Eviction::commit() {
  removal_.commit();
  leftovers_ = {};
  is_put_ = true;
}

}  // namespace kiln
