// SPDX-License-Identifier: Apache-2.0
#pragma once

// The tables of entries and images: what is read is verified, what is too large is not allocated.
// Borrows the connection of the call; knows nothing of files, locks and recovery.

#include "cache/connection.h"
#include "cache/store.h"
#include "support/status.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

// The facts in row `id`, and the digest that they are stored under. not_found if there is no such
// row; corrupt, and of Kiln's origin, with what cannot be a fact: the others are filled in all the
// same.
Status read_entry_facts(Connection& connection,
                        std::int64_t id,
                        EntryFacts& facts,
                        Digest& entry_sha256);

// The image of that row, uncompressed; with `kept`, also as it is kept. corrupt, and of Kiln's
// origin, if it is missing or too large, or if facts and image are not what was stored.
Status read_entry_image(Connection& connection,
                        std::int64_t id,
                        const EntryFacts& facts,
                        const Digest& entry_sha256,
                        std::string& image,
                        std::string* kept = nullptr);

// Whether a failure is about one entry, and not about the database.
inline bool is_entry_damage(const Status& status) {
  return status.code() == Code::corrupt && status.origin() == Origin::kiln;
}

struct DamagedEntry {
  std::int64_t id = 0;
  Status reason;
};

// What else an entry must be, by its id, its facts and its entry_sha256; asked before the image is
// read.
using EntryCheck = std::function<Status(std::int64_t, const EntryFacts&, const Digest&)>;

// Whether there is an entry for `digest` that proves to be what was stored, and passes `check`: the
// newest such, in `found`. Newer ones that do not are appended to `damaged`.
Result<bool> find_entry(Connection& connection,
                        LookUp by,
                        const Digest& digest,
                        Store::Found& found,
                        std::vector<DamagedEntry>& damaged,
                        const EntryCheck& check = {});

// The id of an entry of that key.
Result<std::optional<std::int64_t>> find_entry_id(Connection& connection, const Digest& key);

// Within the caller's transaction. Replaces an entry of the same key. The new row is the last one.
Status insert_entry(Connection& connection,
                    const EntryFacts& facts,
                    const Digest& digest,
                    std::string_view stored_image);

// Within the caller's transaction.
Status delete_entry(Connection& connection, std::int64_t id);

// In no particular order, not verified. Rows that cannot be facts are left out.
Result<std::vector<EntryRow>> list_entries(Connection& connection, const EntryQuery& query);
// Of the keys that have an entry.
Result<std::vector<EntryRow>> list_entries(Connection& connection, const std::vector<Digest>& keys);

// Fills entries, image_bytes and stored_bytes.
Status sum_entries(Connection& connection, Store::Summary& summary);

}  // namespace kiln
