// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a warm-up leaves for other nodes, if the database is not in the cache directory: a pack,
// which any file system can hold.

#include "runtime/engine.h"
#include "tools/invocation.h"
#include "tools/warm_run.h"

#include <optional>
#include <string>

namespace kiln {

// Publishes what was compiled or found in the database, under a name that its contents give, in
// `packs` of the cache directory. The path; nullopt if there is nothing to do or, after a warning,
// if it could not be done.
std::optional<std::string> publish_warmed(const Invocation& invocation,
                                          Engine& engine,
                                          const WarmReport& report);

}  // namespace kiln
