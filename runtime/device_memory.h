// SPDX-License-Identifier: Apache-2.0
#pragma once

// Owned device memory for tools and tests that check kernels. The library itself never allocates
// any: hosts bring their own.

#include "runtime/device.h"
#include "runtime/driver.h"
#include "support/status.h"

#include <cstddef>
#include <memory>
#include <span>

namespace kiln {

class DeviceMemory {
 public:
  // On `device`, in its primary context. out_of_memory, unavailable.
  static Result<DeviceMemory> allocate(std::shared_ptr<const Driver> driver,
                                       std::shared_ptr<const Device> device,
                                       std::size_t bytes);
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  ~DeviceMemory();

  std::byte* address() const { return address_; }

  // Both block until the bytes are there, after everything launched on the default stream. `to` and
  // `from` lie in this memory.
  Status upload(std::byte* to, std::span<const std::byte> data) const;
  Status download(std::span<std::byte> data, const std::byte* from) const;

 private:
  DeviceMemory(std::shared_ptr<const Driver> driver,
               std::shared_ptr<const Device> device,
               std::byte* address)
      : driver_(std::move(driver)), device_(std::move(device)), address_(address) {}

  std::shared_ptr<const Driver> driver_;
  std::shared_ptr<const Device> device_;
  std::byte* address_;
};

}  // namespace kiln
