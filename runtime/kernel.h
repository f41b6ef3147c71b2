// SPDX-License-Identifier: Apache-2.0
#pragma once

// A kernel as a host holds it: the compiled variant, and its loaded module where there is a device.
// Joins the engine with the devices.

#include "runtime/device.h"
#include "runtime/engine.h"
#include "runtime/module.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace kiln {

struct KernelRequest {
  std::string spec;
  std::optional<std::string> target = {};  // nullopt: that of `device`
  int device = 0;
  AcquireLimit limit = AcquireLimit::compile;
};

class Kernel {
 public:
  // With a target, no driver is needed and the kernel is loaded by its first launch; else it is
  // loaded here. The codes of Engine::acquire, Devices::device and load_module.
  static Result<std::shared_ptr<Kernel>> acquire(const std::shared_ptr<Engine>& engine,
                                                 std::shared_ptr<Devices> devices,
                                                 const KernelRequest& request);

  const Acquired& acquired() const { return acquired_; }
  const CompiledKernel& compiled() const { return *acquired_.kernel; }

  struct Loaded {
    std::shared_ptr<const Device> device;
    std::shared_ptr<const Module> module;
  };
  // Loads what is not loaded yet; unavailable without a driver or device. Thread-safe.
  Result<Loaded> loaded();

 private:
  Kernel(std::shared_ptr<Devices> devices, Acquired acquired, int device)
      : devices_(std::move(devices)), acquired_(std::move(acquired)), device_ordinal_(device) {}

  std::shared_ptr<Devices> devices_;
  Acquired acquired_;
  int device_ordinal_;
  std::mutex mutex_;
  std::optional<Loaded> loaded_;
};

}  // namespace kiln
