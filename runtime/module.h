// SPDX-License-Identifier: Apache-2.0
#pragma once

// Code loaded into the driver. One load per key and process, shared by all contexts and devices,
// and never unloaded: unloading anything invalidates a stream capture under way anywhere in the
// process (seen on driver 580). So the table of loaded modules belongs to the process, not to a
// context.

#include "runtime/device.h"
#include "runtime/driver.h"
#include "runtime/engine.h"
#include "support/status.h"

#include <memory>

namespace kiln {

struct Module {
  std::shared_ptr<const Driver> driver;
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
};

// Loads `compiled` unless that has happened, and makes it resident on `device`, so that no launch
// has to. Thread-safe; safe while a stream captures. load_failed, out_of_memory.
Result<std::shared_ptr<const Module>> load_module(const std::shared_ptr<const Driver>& driver,
                                                  const Device& device,
                                                  const CompiledKernel& compiled);

}  // namespace kiln
