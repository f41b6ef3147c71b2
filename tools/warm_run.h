// SPDX-License-Identifier: Apache-2.0
#pragma once

// Carries out a warm-up plan on several threads. Stops taking new pairs when interrupted.

#include "runtime/engine.h"
#include "tools/console.h"
#include "tools/warm_plan.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace kiln {

struct WarmOutcome {
  std::optional<Result<Acquired>> acquired;  // nullopt: not tried
  bool is_pinned = false;
};

struct WarmReport {
  std::vector<WarmOutcome> outcomes;  // in the order of the plan
  std::int64_t compiled = 0;
  std::int64_t cached = 0;
  std::int64_t stored = 0;  // of the compiled
  std::int64_t pinned = 0;  // compiled or cached
  std::int64_t failed = 0;
  std::int64_t not_tried = 0;
  std::int64_t wall_ms = 0;
  bool is_interrupted = false;
};

// `threads` is at least 1; progress goes to the console's standard error. With `should_pin`, each
// entry is pinned as soon as it is there, so that none makes room for those that follow; one that
// could not be pinned is a warning.
WarmReport run_warm(Engine& engine,
                    const std::vector<WarmPair>& plan,
                    int threads,
                    bool should_pin,
                    Console& console);

}  // namespace kiln
