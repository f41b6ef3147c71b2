// SPDX-License-Identifier: Apache-2.0
#pragma once

// Copies entries of a pack into a store.

#include "cache/pack.h"
#include "cache/store.h"
#include "support/status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kiln {

struct PackImport {
  static constexpr std::size_t kMostRefusals = 10000;
  struct Refusal {
    std::string key;   // hexadecimal; empty if it cannot be read
    std::string spec;  // at most the first KiB
    std::string reason;
  };

  std::int64_t imported = 0;
  std::int64_t present = 0;  // the store has a sound entry of that key, which stays
  std::int64_t refused = 0;
  std::vector<Refusal> refusals = {};  // the first kMostRefusals
  Status status = {};  // why the pack could not be read on, or the store took no more
};

// Of those that `query` asks for, order and limit aside; refused ones, of all. What was imported
// before a failure stays.
PackImport import_pack(Pack& pack, Store& store, const EntryQuery& query);

}  // namespace kiln
