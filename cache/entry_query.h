// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a listing may ask for, and its order. Sorted here and not by SQLite, which does not know the
// hits that are still to be written.

#include "cache/store.h"
#include "support/status.h"

#include <vector>

namespace kiln {

// invalid_argument for a key prefix that is none and for a negative limit.
Status check_query(const EntryQuery& query);

// Whether an entry is one that the query asks for; order and limit aside.
bool matches(const EntryQuery& query, const EntryFacts& facts);

// Whether it is for so few of the last used that they are better found one by one than by reading
// all there are.
bool is_for_last_used(const EntryQuery& query);

// Sorts, and cuts to the limit. Equal rows are in the order of their keys.
void sort_entries(const EntryQuery& query, std::vector<EntryRow>& rows);

}  // namespace kiln
