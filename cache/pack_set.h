// SPDX-License-Identifier: Apache-2.0
#pragma once

// The packs that a process may read, searched in their order. They are listed at the first look-up
// and opened when reached; what is put there later, the next set finds. Trouble with a pack is a
// miss and one warning. Thread-safe; in a forked child each pack is opened anew.

#include "cache/pack.h"
#include "cache/pack_path.h"
#include "cache/store.h"
#include "support/digest.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kiln {

class PackSet {
 public:
  // Touches nothing. `trusted_keys` are files, read at the first look-up; if one cannot be, all
  // packs are refused.
  PackSet(PackPlaces places, std::vector<std::string> trusted_keys);
  ~PackSet();
  PackSet(const PackSet&) = delete;
  PackSet& operator=(const PackSet&) = delete;

  // The newest sound entry of the first pack that has one.
  std::optional<Store::Found> find(LookUp by, const Digest& digest);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kiln
