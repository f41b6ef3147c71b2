// SPDX-License-Identifier: Apache-2.0
#include "tests/host_device/gpu_backend.h"

#include "runtime/device_memory.h"
#include "runtime/launch.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace kiln {
namespace {

// One buffer of the host's on the device, at the same address modulo kAlignment: alignment is what
// variants differ in.
struct Copy {
  static constexpr std::size_t kAlignment = 256;
  std::string name;
  std::span<std::byte> host;
  DeviceMemory memory;

  std::byte* address() const {
    return memory.address() + reinterpret_cast<std::uintptr_t>(host.data()) % kAlignment;
  }
};

template <typename Values>
auto find(const Values& values, const std::string& name) {
  return std::find_if(values.begin(), values.end(),
                      [&](const auto& value) { return value.first == name; });
}

Result<Argument> to_argument(const KernelArgument& declared,
                             const KernelArguments& arguments,
                             const std::vector<Copy>& copies) {
  if (declared.kind == ArgumentKind::pointer) {
    const auto copy = std::find_if(copies.begin(), copies.end(),
                                   [&](const Copy& c) { return c.name == declared.name; });
    return Argument::of_pointer(copy == copies.end() ? nullptr : copy->address());
  }
  if (declared.kind == ArgumentKind::float32) {
    const auto real = find(arguments.reals, declared.name);
    if (real != arguments.reals.end()) return Argument::of_float32(real->second);
  } else if (const auto integer = find(arguments.integers, declared.name);
             integer != arguments.integers.end()) {
    return declared.kind == ArgumentKind::int64
               ? Argument::of_int64(integer->second)
               : Argument::of_int32(static_cast<std::int32_t>(integer->second));
  }
  return failure(Code::invalid_argument, "no value for argument \"{}\"", declared.name);
}

}  // namespace

Result<std::unique_ptr<GpuBackend>> GpuBackend::create(Environment environment) {
  KILN_TRY_ASSIGN(auto engine, Engine::open({.environment = std::move(environment)}));
  std::unique_ptr<GpuBackend> backend(
      new GpuBackend(std::move(engine), std::make_shared<Devices>()));
  KILN_TRY_ASSIGN(backend->driver_, backend->devices_->driver());
  KILN_TRY_ASSIGN(backend->device_, backend->devices_->device(0));
  return backend;
}

Status GpuBackend::run(const Variant& variant, const KernelArguments& arguments) {
  KILN_TRY_ASSIGN(auto kernel, Kernel::acquire(engine_, devices_, {.spec = variant.spec()}));
  const auto& declared = variant.manifest().arguments;
  const auto is_used = [&](const std::string& name) {
    for (std::size_t i = 0; i < declared.size(); ++i) {
      if (declared[i].name == name) return bool{kernel->compiled().specialization.is_used[i]};
    }
    return false;
  };
  std::vector<Copy> copies;
  for (const auto& [name, host] : arguments.pointers) {
    if (!is_used(name)) continue;
    KILN_TRY_ASSIGN(DeviceMemory memory,
                    DeviceMemory::allocate(driver_, device_, host.size() + Copy::kAlignment));
    copies.push_back({name, host, std::move(memory)});
    KILN_TRY(copies.back().memory.upload(copies.back().address(), host));
  }
  std::vector<Argument> values;
  for (const KernelArgument& argument : declared) {
    KILN_TRY_ASSIGN(values.emplace_back(), to_argument(argument, arguments, copies));
  }
  KILN_TRY(launch(*kernel, {}, values));
  for (const Copy& copy : copies) {
    KILN_TRY(copy.memory.download(copy.host, copy.address()));
  }
  return {};
}

}  // namespace kiln
