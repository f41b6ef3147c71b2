// SPDX-License-Identifier: Apache-2.0
#pragma once

// One cache entry as `kiln ls` and `kiln show` print it.

#include "cache/store.h"
#include "tools/json_output.h"
#include "tools/table.h"

#include <string>
#include <vector>

namespace kiln {

// The members that `kiln ls --json` gives for each entry.
Json entry_json(const EntryRow& row);

Table entry_table(const std::vector<EntryRow>& rows);

// Enough of a key to name an entry by.
std::string short_key(const Digest& key);

}  // namespace kiln
