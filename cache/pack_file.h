// SPDX-License-Identifier: Apache-2.0
#pragma once

// The file of a pack: who may have written it, and what makes it one. Nothing in it is believed
// before it is checked: the file comes from somebody else.

#include "cache/connection.h"
#include "support/status.h"

#include <cstdint>
#include <memory>
#include <string>

namespace kiln {

constexpr std::int64_t kPackApplicationId = 0x4B504143;  // "KPAC", as in pack.sql
constexpr int kPackSchema = 1;

// Opens it to read; it is never written, and may be replaced by renaming while it is open. Unless
// `trust_others`, the file and its directory, after resolving links, must pass check_shared_file().
// not_found, io; invalid_argument for those, and for what is no regular file; unsupported for
// another application's database and a newer schema; corrupt.
Result<std::unique_ptr<Connection>> open_pack_file(const std::string& path, bool trust_others);

}  // namespace kiln
