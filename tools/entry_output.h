// SPDX-License-Identifier: Apache-2.0
#pragma once

// The cache's entries and size as several commands print them.

#include "cache/store.h"
#include "tools/json_output.h"
#include "tools/table.h"

#include <string>
#include <vector>

namespace kiln {

// The members that `kiln ls --json` gives for each entry.
Json entry_json(const EntryRow& row);

Table entry_table(const std::vector<EntryRow>& rows);

// "1.2 MiB of 2.0 GiB (database 1.1 MiB, log 0.1 MiB, quarantined 0 B)"
std::string size_text(const Store::Summary& summary);

// Enough of a key to name an entry by.
std::string short_key(const Digest& key);

}  // namespace kiln
