// SPDX-License-Identifier: Apache-2.0
#include "runtime/device_memory.h"

#include "support/log.h"

#include <cstdint>
#include <utility>

namespace kiln {
namespace {

CUdeviceptr device_pointer(const std::byte* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace

Result<DeviceMemory> DeviceMemory::allocate(std::shared_ptr<const Driver> driver,
                                            std::shared_ptr<const Device> device,
                                            std::size_t bytes) {
  const DriverApi& api = driver->api();
  if (api.cuMemAlloc == nullptr || api.cuMemFree == nullptr || api.cuMemcpyHtoD == nullptr ||
      api.cuMemcpyDtoH == nullptr) {
    return failure(Code::unavailable, "this CUDA driver has no memory functions");
  }
  KILN_TRY_ASSIGN(const CurrentContext current, CurrentContext::enter(*driver, *device));
  CUdeviceptr pointer = 0;
  KILN_TRY(driver->check(api.cuMemAlloc(&pointer, bytes), Code::out_of_memory,
                         fmt::format("allocating {} bytes on device {}", bytes, device->ordinal)));
  return DeviceMemory(std::move(driver), std::move(device),
                      reinterpret_cast<std::byte*>(pointer));  // NOLINT(performance-no-int-to-ptr)
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : driver_(std::move(other.driver_)),
      device_(std::move(other.device_)),
      address_(std::exchange(other.address_, nullptr)) {}

DeviceMemory::~DeviceMemory() {
  if (address_ == nullptr) return;
  const auto current = CurrentContext::enter(*driver_, *device_);
  if (!current.is_ok() || driver_->api().cuMemFree(device_pointer(address_)) != CUDA_SUCCESS) {
    log(LogLevel::warning, "device memory could not be freed");
  }
}

Status DeviceMemory::upload(std::byte* to, std::span<const std::byte> data) const {
  KILN_TRY_ASSIGN(const CurrentContext current, CurrentContext::enter(*driver_, *device_));
  return driver_->check(driver_->api().cuMemcpyHtoD(device_pointer(to), data.data(), data.size()),
                        Code::launch_failed, "copying to the device");
}

Status DeviceMemory::download(std::span<std::byte> data, const std::byte* from) const {
  KILN_TRY_ASSIGN(const CurrentContext current, CurrentContext::enter(*driver_, *device_));
  return driver_->check(driver_->api().cuMemcpyDtoH(data.data(), device_pointer(from), data.size()),
                        Code::launch_failed, "copying from the device");
}

}  // namespace kiln
