// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a kernel's grid on the calling thread: blocks one after another, the threads of a block as
// fibers that switch where they meet. Deterministic. One grid at a time in a process; a kernel's
// locals must need no destructors, since a failed grid's fibers are dropped where they stand.

#include "support/status.h"
#include "tests/host_device/device/execution.h"

#include <functional>

namespace kiln::host {

// In which order a block's threads take turns. Whatever a barrier does not order must not show.
enum class Order { ascending, descending };

struct Grid {
  Index blocks{1, 1, 1};
  Index threads{1, 1, 1};
  Order order = Order::ascending;
};

// Calls `kernel` once for each thread. launch_failed if threads of a block can never meet: some
// have left the kernel, or wait elsewhere.
Status run_grid(const Grid& grid, const std::function<void()>& kernel);

}  // namespace kiln::host
