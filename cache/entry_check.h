// SPDX-License-Identifier: Apache-2.0
#pragma once

// What an entry must be beyond its digest: whoever wrote it may have been wrong about it from the
// start.

#include "cache/connection.h"
#include "cache/entry.h"
#include "support/status.h"

#include <cstdint>
#include <string>

namespace kiln {

// corrupt unless template, target, toolchain, key and request are those of the key fields. Key
// fields of another key schema are excused.
Status check_key(const EntryFacts& facts);

// Row `id`, all of it; with `image`, also uncompressed. not_found, or damage as is_entry_damage()
// knows it: `entry` then has what could be read.
Status check_entry(Connection& connection,
                   std::int64_t id,
                   StoredEntry& entry,
                   std::string* image = nullptr);

}  // namespace kiln
