// SPDX-License-Identifier: Apache-2.0
#include "runtime/device.h"

#include "support/log.h"

#include <array>
#include <utility>

namespace kiln {

Result<CurrentContext> CurrentContext::enter(const Driver& driver, const Device& device) {
  // Asked in two steps, because asking for the device of no context is an error that tools report.
  const DriverApi& api = driver.api();
  CUcontext context = nullptr;
  CUdevice current = 0;
  if (api.cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr &&
      api.cuCtxGetDevice(&current) == CUDA_SUCCESS && current == device.handle) {
    return CurrentContext(nullptr);
  }
  return enter_primary(driver, device);
}

Result<CurrentContext> CurrentContext::enter_primary(const Driver& driver, const Device& device) {
  KILN_TRY(driver.check(driver.api().cuCtxPushCurrent(device.primary), Code::unavailable,
                        "making the primary context current"));
  return CurrentContext(&driver);
}

CurrentContext::CurrentContext(CurrentContext&& other) noexcept
    : pushed_on_(std::exchange(other.pushed_on_, nullptr)) {}

CurrentContext::~CurrentContext() {
  if (pushed_on_ == nullptr) return;
  CUcontext popped = nullptr;
  if (pushed_on_->api().cuCtxPopCurrent(&popped) != CUDA_SUCCESS) {
    log(LogLevel::error, "the caller's CUDA context could not be restored");
  }
}

Result<std::shared_ptr<const Driver>> Devices::driver() {
  const std::lock_guard lock(mutex_);
  KILN_TRY(count().status());
  return driver_;
}

Result<int> Devices::count() {
  if (driver_ == nullptr) {
    KILN_TRY_ASSIGN(driver_, Driver::load());
  }
  int count = 0;
  KILN_TRY(driver_->check(driver_->api().cuDeviceGetCount(&count), Code::unavailable,
                          "counting devices"));
  return count;
}

Result<Device> Devices::describe(int ordinal) const {
  const DriverApi& api = driver_->api();
  Device device;
  device.ordinal = ordinal;
  KILN_TRY(driver_->check(api.cuDeviceGet(&device.handle, ordinal), Code::unavailable, "device"));
  std::array<char, 256> name{};
  KILN_TRY(driver_->check(api.cuDeviceGetName(name.data(), name.size(), device.handle),
                          Code::unavailable, "device name"));
  device.name = name.data();
  const std::pair<CUdevice_attribute, int*> attributes[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &device.capability.major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &device.capability.minor},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &device.sm_count},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &device.most_shared_bytes},
  };
  for (const auto& [attribute, value] : attributes) {
    KILN_TRY(driver_->check(api.cuDeviceGetAttribute(value, attribute, device.handle),
                            Code::unavailable, "device attribute"));
  }
  return device;
}

Result<std::vector<Device>> Devices::list() {
  const std::lock_guard lock(mutex_);
  KILN_TRY_ASSIGN(const int count, this->count());
  std::vector<Device> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    KILN_TRY_ASSIGN(devices.emplace_back(), describe(ordinal));
  }
  return devices;
}

Result<std::shared_ptr<const Device>> Devices::device(int ordinal) {
  const std::lock_guard lock(mutex_);
  KILN_TRY_ASSIGN(const int count, this->count());
  if (ordinal < 0 || ordinal >= count) {
    return failure(Code::not_found, "device {} does not exist; there are {}", ordinal, count);
  }
  opened_.resize(static_cast<std::size_t>(count));
  std::shared_ptr<const Device>& opened = opened_[static_cast<std::size_t>(ordinal)];
  if (opened == nullptr) {
    KILN_TRY_ASSIGN(Device device, describe(ordinal));
    KILN_TRY(driver_->check(driver_->api().cuDevicePrimaryCtxRetain(&device.primary, device.handle),
                            Code::unavailable, "retaining the primary context"));
    opened = std::make_shared<const Device>(std::move(device));
  }
  return opened;
}

}  // namespace kiln
