// SPDX-License-Identifier: Apache-2.0
#pragma once

// Times one kernel and, in turns with it, copies of as many bytes. All rotate over sets of buffers
// that together exceed the L2 cache several times, so that every launch finds its data in memory.

#include "runtime/kernel.h"
#include "support/status.h"
#include "templates/variant.h"

#include <algorithm>
#include <cstdint>

namespace kiln {

struct Measurement {
  // Of one launch: the medians of all replays.
  double kernel_us = 0;
  double memcpy_us = 0;       // cuMemcpyDtoDAsync
  double copy_kernel_us = 0;  // the template `device_copy`
  std::int64_t moved_bytes = 0;
  int sets = 0;
  int launches = 0;  // of a replay

  // The yardstick: half of moved_bytes from one buffer to another, the faster way.
  double copy_us() const { return std::min(memcpy_us, copy_kernel_us); }
  double ratio() const { return copy_us() > 0 ? kernel_us / copy_us() : 0; }
  double gb_per_s() const {
    return kernel_us > 0 ? static_cast<double>(moved_bytes) / kernel_us / 1000 : 0;
  }
};

// `device_copy` is the template of that name, for the same device; `integers` are complete. The
// codes of Workload::make and launch; unavailable if the driver lacks what timing takes.
Result<Measurement> measure(Kernel& kernel,
                            Kernel& copy,
                            const IntegerArguments& integers,
                            int replays);

}  // namespace kiln
