// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a prune on request takes away, worked out from a listing. Touches nothing.

#include "cache/eviction.h"
#include "cache/store.h"
#include "support/status.h"

#include <cstdint>
#include <vector>

namespace kiln {

struct PrunePlan {
  std::vector<EntryRow> rows;     // those that match, least recently used first
  std::int64_t target_bytes = 0;  // pages that may stay in use; 0: all rows go
  bool drops_quarantine = false;

  std::vector<Candidate> candidates() const;
};

// invalid_argument for negative numbers, and for `all` beside something that narrows it.
Status check_prune_query(const PruneQuery& query);

// `plan.rows`: entries of the query's template, target and toolchain.
void make_prune_plan(const PruneQuery& query,
                     const PageUse& use,
                     std::int64_t quarantine_bytes,
                     std::int64_t limit_bytes,
                     std::int64_t now,
                     PrunePlan& plan);

// What carrying out the plan would come to; `quarantine_bytes` are those that it drops.
Store::Pruned estimate(PrunePlan plan, const PageUse& use, std::int64_t quarantine_bytes);

// Those of the rows that have one of the keys, in their order.
std::vector<EntryRow> rows_of(std::vector<EntryRow> rows, const std::vector<Digest>& keys);

}  // namespace kiln
