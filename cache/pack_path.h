// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where packs are looked for: the files and directories of KILN_PACK_PATH, then `packs` in the
// cache directory, then what an installation brings. Opens no pack.

#include "support/environment.h"
#include "support/status.h"

#include <optional>
#include <string>
#include <vector>

namespace kiln {

struct PackPlaces {
  std::vector<std::string> path = {};           // KILN_PACK_PATH
  std::optional<std::string> cache_packs = {};  // pack_directory() of the cache directory
  std::optional<std::string> installed = {};    // share/kiln/packs
  bool trust_others = false;                    // KILN_TRUST_DIR
};

// `packs` in the cache directory.
std::string pack_directory(const std::string& cache_directory);

// `cache_directory` is the one that was chosen, wherever its database is.
PackPlaces pack_places(const Environment& environment,
                       const std::optional<std::string>& cache_directory);

struct PackFile {
  std::string path;
  std::string origin;  // "KILN_PACK_PATH", "cache directory" or "installation"
  Status status = {};  // why it, or the directory that this is, is passed over
};

// In the order in which they are searched: the `*.kpack` of a directory by name. A directory that
// group or others can write is passed over, as is a relative path and what KILN_PACK_PATH names and
// is not there; the other two places may be absent.
std::vector<PackFile> find_packs(const PackPlaces& places);

}  // namespace kiln
