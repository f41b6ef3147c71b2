// SPDX-License-Identifier: Apache-2.0
#pragma once

// The tables of entries and images: what is read is verified, what is too large is not allocated.
// Borrows the connection of the call; knows nothing of files, locks and recovery.

#include "cache/connection.h"
#include "cache/store.h"
#include "support/status.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace kiln {

// Most bytes of one text among the facts.
constexpr std::size_t kLongestFact = 1 << 20;

enum class LookUp { key, request };

// Whether there is an entry for `digest` that proves to be what was stored: the newest such, in
// `found`. The ids of newer ones that do not are appended to `damaged`.
Result<bool> find_entry(Connection& connection,
                        LookUp by,
                        const Digest& digest,
                        Store::Found& found,
                        std::vector<std::int64_t>& damaged);

// Within the caller's transaction. Replaces an entry of the same key.
Status insert_entry(Connection& connection,
                    const EntryFacts& facts,
                    const Digest& digest,
                    std::string_view stored_image);

// Within the caller's transaction.
Status delete_entry(Connection& connection, std::int64_t id);

// In no particular order, not verified. Rows that cannot be facts are left out.
Result<std::vector<EntryRow>> list_entries(Connection& connection, const EntryQuery& query);

// Fills entries, image_bytes and stored_bytes.
Status sum_entries(Connection& connection, Store::Summary& summary);

}  // namespace kiln
