// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the cache lives: $KILN_CACHE_DIR, else $XDG_CACHE_HOME/kiln, else $HOME/.cache/kiln. A
// candidate that is relative, cannot be created or written, belongs to somebody else or can be
// written by group or others is not used.

#include "support/environment.h"
#include "support/status.h"

#include <optional>
#include <string>

namespace kiln {

struct CacheDirectory {
  std::string path;
  std::string origin;  // the variable that chose it
};

// The directory that would be used; touches nothing. unavailable if no variable names one.
// A relative KILN_CACHE_DIR is invalid_argument, a relative XDG_CACHE_HOME is ignored as the XDG
// specification says.
Result<CacheDirectory> choose_cache_directory(const Environment& environment);

// Creates what is missing (0700) and checks owner and mode after resolving links. io or
// invalid_argument with the path and the reason.
Status prepare_cache_directory(const std::string& path);

}  // namespace kiln
