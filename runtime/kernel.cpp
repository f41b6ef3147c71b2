// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel.h"

#include "jit/target.h"

namespace kiln {
namespace {

// The device's default target, whether or not NVRTC is there: a warm cache needs none. Only when
// something has to be compiled and NVRTC does not know the device, the nearest that it knows.
Result<Acquired> acquire_for_device(Engine& engine,
                                    const Device& device,
                                    const Variant& variant,
                                    AcquireLimit limit) {
  const Target target = default_target(device.capability);
  // What the template itself does not support, no other target helps.
  KILN_TRY(specialize(variant, device.capability).status());
  Result<Acquired> acquired = engine.acquire(variant, target, limit);
  if (acquired.is_ok() || acquired.status().code() != Code::unsupported) return acquired;
  KILN_TRY_ASSIGN(const auto nvrtc, engine.nvrtc());
  KILN_TRY_ASSIGN(const Target nearest,
                  target_for_device(device.capability, nvrtc->supported_architectures()));
  return nearest == target ? acquired : engine.acquire(variant, nearest, limit);
}

}  // namespace

Result<std::shared_ptr<Kernel>> Kernel::acquire(const std::shared_ptr<Engine>& engine,
                                                std::shared_ptr<Devices> devices,
                                                const KernelRequest& request) {
  KILN_TRY_ASSIGN(const Variant variant, Variant::parse(engine->catalog(), request.spec));
  std::optional<Acquired> acquired;
  if (request.target) {
    KILN_TRY_ASSIGN(const Target target, parse_target(*request.target));
    KILN_TRY_ASSIGN(acquired, engine->acquire(variant, target, request.limit));
  } else {
    KILN_TRY_ASSIGN(const auto device, devices->device(request.device));
    KILN_TRY_ASSIGN(acquired, acquire_for_device(*engine, *device, variant, request.limit));
  }
  std::shared_ptr<Kernel> kernel(
      new Kernel(std::move(devices), *std::move(acquired), request.device));
  if (!request.target) {
    KILN_TRY(kernel->loaded().status());
  }
  return kernel;
}

Result<Kernel::Loaded> Kernel::loaded() {
  const std::lock_guard lock(mutex_);
  if (!loaded_) {
    KILN_TRY_ASSIGN(const auto driver, devices_->driver());
    KILN_TRY_ASSIGN(const auto device, devices_->device(device_ordinal_));
    KILN_TRY_ASSIGN(auto module, load_module(driver, *device, compiled()));
    loaded_ = Loaded{device, std::move(module)};
  }
  return *loaded_;
}

}  // namespace kiln
