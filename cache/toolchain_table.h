// SPDX-License-Identifier: Apache-2.0
#pragma once

// The table of remembered compiler libraries. Knows nothing of whether they are still current.

#include "cache/connection.h"
#include "jit/toolchain.h"
#include "support/status.h"

#include <vector>

namespace kiln {

Result<std::vector<ToolchainMemo>> read_toolchains(Connection& connection);
// Replaces what was remembered of the same path.
Status write_toolchain(Connection& connection, const ToolchainMemo& memo);

}  // namespace kiln
