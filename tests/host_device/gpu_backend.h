// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs variants on device 0, through the engine and the cache as a host would. Says of each kernel
// where it came from.

#include "runtime/kernel.h"
#include "tests/host_device/backend.h"

#include <memory>
#include <string>
#include <vector>

namespace kiln {

class GpuBackend final : public Backend {
 public:
  // unavailable without a driver or device.
  static Result<std::unique_ptr<GpuBackend>> create(Environment environment);

  Status run(const Variant& variant, const KernelArguments& arguments) override;
  bool is_device() const override { return true; }
  // Compiles these on all cores. What fails here will fail in run(), with the reason.
  void warm(const std::vector<Variant>& variants) const;
  const std::string& device_name() const { return device_->name; }
  Statistics statistics() const { return engine_->statistics(); }

 private:
  GpuBackend(std::shared_ptr<Engine> engine, std::shared_ptr<Devices> devices)
      : engine_(std::move(engine)), devices_(std::move(devices)) {}

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<Devices> devices_;
  std::shared_ptr<const Driver> driver_;
  std::shared_ptr<const Device> device_;
};

}  // namespace kiln
