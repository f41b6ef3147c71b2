// SPDX-License-Identifier: Apache-2.0
#pragma once

// The GPUs of this machine, found when first asked for. Primary contexts only are made, and never
// released: a host that shares them must not lose its work when Kiln's handle goes.

#include "runtime/driver.h"
#include "support/compute_capability.h"
#include "support/status.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace kiln {

struct Device {
  CUdevice handle = 0;
  int ordinal = 0;
  std::string name;
  ComputeCapability capability;
  int sm_count = 0;
  int most_shared_bytes = 0;  // per block, when asked for
  CUcontext primary = nullptr;
};

// Makes a device's primary context current for a scope, unless a context of that device already is.
// The caller's current context is the same afterwards.
class CurrentContext {
 public:
  static Result<CurrentContext> enter(const Driver& driver, const Device& device);
  // The primary context in any case.
  static Result<CurrentContext> enter_primary(const Driver& driver, const Device& device);
  CurrentContext(CurrentContext&& other) noexcept;
  CurrentContext& operator=(CurrentContext&&) = delete;
  ~CurrentContext();

 private:
  explicit CurrentContext(const Driver* pushed_on) : pushed_on_(pushed_on) {}
  const Driver* pushed_on_;  // nullptr: nothing was pushed
};

// Thread-safe.
class Devices {
 public:
  // All of these load the driver when first called. unavailable without a driver or a device.
  Result<std::shared_ptr<const Driver>> driver();
  // Names and facts; makes no context.
  Result<std::vector<Device>> list();
  // With its primary context. not_found if there are fewer devices.
  Result<std::shared_ptr<const Device>> device(int ordinal);

 private:
  Result<int> count();  // with mutex_ held
  Result<Device> describe(int ordinal) const;

  std::mutex mutex_;
  std::shared_ptr<const Driver> driver_;
  std::vector<std::shared_ptr<const Device>> opened_;
};

}  // namespace kiln
