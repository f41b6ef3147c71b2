// SPDX-License-Identifier: Apache-2.0
#pragma once

// Opening the cache that is there, without creating one.

#include "cache/directory.h"
#include "cache/pack.h"
#include "cache/store.h"
#include "tools/invocation.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

// --cache-dir, else as the environment says. Touches nothing.
Result<CacheDirectory> cache_directory(const Invocation& invocation);
// Where its database is.
Result<StorePlace> store_place(const Invocation& invocation);

// The store, empty if there is none; null, with a warning printed, if nothing says where it would
// be.
Result<std::unique_ptr<Store>> inspect_store(const Invocation& invocation);

// The same store, to write to; null if there is none: nothing is created. Fails as a writer would.
Result<std::unique_ptr<Store>> change_store(const Invocation& invocation);

// Likewise, but makes one if there is none. Fails also if nothing says where it would be.
Result<std::unique_ptr<Store>> create_store(const Invocation& invocation);

// KILN_TRUST, `more_keys` and KILN_TRUST_DIR.
Result<PackTrust> pack_trust(const Environment& environment,
                             const std::vector<std::string>& more_keys = {});

// invalid_argument unless is_key_prefix().
Result<std::string> parse_key_prefix(std::string_view text);

}  // namespace kiln
