// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a warm-up has to do: specs, models and targets from the command line as distinct pairs of
// variant and target. Everything is checked here, before anything is compiled.

#include "jit/target.h"
#include "runtime/device.h"
#include "templates/catalog.h"
#include "templates/variant.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

struct WarmPair {
  Variant variant;
  std::string spec;  // canonical
  Target target;
};

struct WarmRequest {
  std::vector<std::string> specs;
  std::vector<std::string> models;
  std::vector<std::string> targets;  // comma-separated; none: those of the local devices
  std::optional<std::string> shard;  // "i/n"
};

struct Shard {
  std::int64_t index = 1;  // from 1 to count
  std::int64_t count = 1;
};

// invalid_argument unless the text is "i/n" with i from 1 to n.
Result<Shard> parse_shard(std::string_view text);

// Sorted by spec and target, so that shards agree on who does what in whatever order they were
// given the list. invalid_argument, also if there is neither a target nor a device; not_found for
// an unknown template or model.
Result<std::vector<WarmPair>> plan_warm(const WarmRequest& request,
                                        const Catalog& catalog,
                                        Devices& devices);

}  // namespace kiln
