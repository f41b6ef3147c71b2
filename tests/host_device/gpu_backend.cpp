// SPDX-License-Identifier: Apache-2.0
#include "tests/host_device/gpu_backend.h"

#include "runtime/device_memory.h"
#include "runtime/launch.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace kiln {
namespace {

// One buffer of the host's on the device, at the same address modulo kAlignment: alignment is what
// variants differ in. What lies around it shows whether a kernel writes there.
struct Copy {
  static constexpr std::size_t kAlignment = 256;
  static constexpr std::byte kGuard{0x5C};
  std::vector<std::string> names;  // several arguments may share memory
  std::span<std::byte> host;
  DeviceMemory memory;

  static std::size_t bytes(std::span<std::byte> host) { return host.size() + 3 * kAlignment; }
  std::size_t begin() const {
    return kAlignment + reinterpret_cast<std::uintptr_t>(host.data()) % kAlignment;
  }
  std::byte* address() const { return memory.address() + begin(); }
  bool is_of(const std::string& name) const {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  Status upload() const {
    std::vector<std::byte> all(bytes(host), kGuard);
    std::copy(host.begin(), host.end(), all.begin() + static_cast<std::ptrdiff_t>(begin()));
    return memory.upload(memory.address(), all);
  }
  Status download() const {
    std::vector<std::byte> all(bytes(host));
    KILN_TRY(memory.download(all, memory.address()));
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin());
    const auto last = first + static_cast<std::ptrdiff_t>(host.size());
    std::copy(first, last, host.begin());
    std::fill(first, last, kGuard);
    if (std::all_of(all.begin(), all.end(), [](std::byte b) { return b == kGuard; })) return {};
    return failure(Code::internal, "the kernel wrote outside argument \"{}\"", names.front());
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
                                   [&](const Copy& c) { return c.is_of(declared.name); });
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

void GpuBackend::warm(const std::vector<Variant>& variants) const {
  const Target target = default_target(device_->capability);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < variants.size(); i = next++)
      (void)engine_->acquire(variants[i], target, AcquireLimit::compile);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back(work);
  for (std::thread& thread : threads)
    thread.join();
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
    const auto shared = std::find_if(copies.begin(), copies.end(), [&](const Copy& copy) {
      return copy.host.data() == host.data() && copy.host.size() == host.size();
    });
    if (shared != copies.end()) {
      shared->names.push_back(name);
      continue;
    }
    KILN_TRY_ASSIGN(DeviceMemory memory,
                    DeviceMemory::allocate(driver_, device_, Copy::bytes(host)));
    copies.push_back({{name}, host, std::move(memory)});
    KILN_TRY(copies.back().upload());
  }
  std::vector<Argument> values;
  for (const KernelArgument& argument : declared) {
    KILN_TRY_ASSIGN(values.emplace_back(), to_argument(argument, arguments, copies));
  }
  KILN_TRY(launch(*kernel, {}, values));
  for (const Copy& copy : copies) {
    KILN_TRY(copy.download());
  }
  return {};
}

}  // namespace kiln
