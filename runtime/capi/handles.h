// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the C API's opaque handles point to.

#include "kiln/kiln.h"
#include "runtime/kernel.h"

#include <memory>
#include <string>

struct kiln_context {
  std::shared_ptr<kiln::Engine> engine;
  std::shared_ptr<kiln::Devices> devices;
};

struct kiln_kernel {
  std::shared_ptr<kiln::Kernel> kernel;
  // What kiln_kernel_get_info() hands out.
  std::string key;
  std::string spec;
  std::string target;
};
