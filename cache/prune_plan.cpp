// SPDX-License-Identifier: Apache-2.0
#include "cache/prune_plan.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>

namespace kiln {
namespace {

constexpr std::int64_t kPageBytes = 4096;
constexpr std::int64_t kRowBytes = 512;  // numbers, digests and index entries of a row
// As an eviction leaves it.
constexpr std::int64_t kTargetPercent = 90;

bool narrows(const PruneQuery& query) {
  return query.unused_for_s || query.template_name || query.target || query.toolchain_prefix ||
         query.to_bytes;
}

bool matches(const PruneQuery& query, const EntryRow& row, std::int64_t now) {
  if (row.is_pinned && !query.include_pinned) return false;
  return !query.unused_for_s || now - std::min(row.last_used_at, now) >= *query.unused_for_s;
}

// Whole pages of the image, and the row's share of its page.
std::int64_t estimated_bytes(const EntryRow& row) {
  const EntryFacts& facts = row.facts;
  std::int64_t bytes = (row.stored_bytes + kPageBytes - 1) / kPageBytes * kPageBytes + kRowBytes;
  for (const std::string* text :
       {&facts.template_name, &facts.spec, &facts.target, &facts.toolchain, &facts.lowered_name,
        &facts.layout, &facts.key_fields, &facts.log}) {
    bytes += std::ssize(*text);
  }
  return bytes;
}

}  // namespace

std::vector<Candidate> PrunePlan::candidates() const {
  std::vector<Candidate> candidates;
  candidates.reserve(rows.size());
  for (const EntryRow& row : rows)
    candidates.push_back({.key = row.facts.key, .last_used_at = row.last_used_at});
  return candidates;
}

Status check_prune_query(const PruneQuery& query) {
  if (query.unused_for_s.value_or(0) < 0 || query.to_bytes.value_or(0) < 0) {
    return failure(Code::invalid_argument, "age is {} s, size is {}; they must not be negative",
                   query.unused_for_s.value_or(0), query.to_bytes.value_or(0));
  }
  if (query.all && narrows(query)) {
    return failure(Code::invalid_argument, "everything and less than that cannot both be pruned");
  }
  return {};
}

void make_prune_plan(const PruneQuery& query,
                     const PageUse& use,
                     std::int64_t quarantine_bytes,
                     std::int64_t limit_bytes,
                     std::int64_t now,
                     PrunePlan& plan) {
  std::erase_if(plan.rows, [&](const EntryRow& row) { return !matches(query, row, now); });
  std::sort(plan.rows.begin(), plan.rows.end(), [&](const EntryRow& left, const EntryRow& right) {
    const auto rank = [&](const EntryRow& row) {
      return std::tuple(std::min(row.last_used_at, now), row.last_used_at, row.hits);
    };
    if (rank(left) != rank(right)) return rank(left) < rank(right);
    return left.facts.key < right.facts.key;
  });
  const bool has_size = query.to_bytes || (!query.all && !narrows(query));
  if (!has_size) {
    plan.target_bytes = 0;
    plan.drops_quarantine = query.all && quarantine_bytes > 0;
    return;
  }
  const std::int64_t most_bytes = query.to_bytes.value_or(limit_bytes);
  plan.drops_quarantine = quarantine_bytes > 0 && use.file_bytes + quarantine_bytes > most_bytes;
  plan.target_bytes = most_bytes - (plan.drops_quarantine ? 0 : quarantine_bytes);
  if (!query.to_bytes && use.used_bytes > plan.target_bytes) {
    plan.target_bytes = limit_bytes / 100 * kTargetPercent;
  }
}

Store::Pruned estimate(PrunePlan plan, const PageUse& use, std::int64_t quarantine_bytes) {
  Store::Pruned pruned{.entries = {}, .freed_bytes = quarantine_bytes};
  std::int64_t used_bytes = use.used_bytes;
  for (EntryRow& row : plan.rows) {
    if (used_bytes <= plan.target_bytes && plan.target_bytes > 0) break;
    const std::int64_t bytes = estimated_bytes(row);
    used_bytes -= bytes;
    pruned.freed_bytes += bytes;
    pruned.entries.push_back(std::move(row));
  }
  return pruned;
}

std::vector<EntryRow> rows_of(std::vector<EntryRow> rows, const std::vector<Digest>& keys) {
  const std::unordered_set<Digest, DigestHash> wanted(keys.begin(), keys.end());
  std::erase_if(rows, [&](const EntryRow& row) { return !wanted.contains(row.facts.key); });
  return rows;
}

}  // namespace kiln
