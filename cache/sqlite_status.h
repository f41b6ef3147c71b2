// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one mapping from SQLite's result codes to ours. The extended code survives as native_code.

#include "support/status.h"

#include <sqlite3.h>

namespace kiln {

// For a failed call on `connection`, which may be null; `code` is an extended result code.
Status sqlite_failure(sqlite3* connection, int code);

}  // namespace kiln
