// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the cache lives: $KILN_CACHE_DIR, else $XDG_CACHE_HOME/kiln, else $HOME/.cache/kiln. A
// candidate that is relative, cannot be created or written, belongs to somebody else or can be
// written by group or others is not used.

#include "cache/file_system.h"
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

// Where the live database is.
struct StorePlace {
  std::string directory;
  FileSystem file_system;     // of the cache directory
  std::string moved_because;  // empty: it is in the cache directory
};

// In the cache directory if its file system is known to be local or KILN_CACHE_LOCAL says so; else
// in the first that can be used of $KILN_LOCAL_DIR, /var/tmp/kiln-UID and /dev/shm/kiln-UID.
// Touches nothing. unavailable if there is none; invalid_argument for a relative KILN_LOCAL_DIR;
// io.
Result<StorePlace> place_store(const CacheDirectory& cache, const Environment& environment);

// Creates what is missing (0700) and checks owner and mode after resolving links. io or
// invalid_argument with the path and the reason.
Status prepare_cache_directory(const std::string& path);
// Likewise, of one that exists.
Status check_cache_directory(const std::string& path);

}  // namespace kiln
