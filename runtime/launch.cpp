// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch.h"

#include "runtime/memory_check.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace kiln {
namespace {

std::int32_t kind_bytes(ArgumentKind kind) {
  return kind == ArgumentKind::pointer || kind == ArgumentKind::int64 ? 8 : 4;
}

Status check_pointer(const KernelArgument& declared,
                     bool is_used,
                     std::int64_t multiple_of,
                     std::uint64_t value) {
  if (!is_used) {
    if (value == 0) return {};
    return failure(Code::invalid_argument,
                   "argument \"{}\" is {:#x}; this variant does not use it, so it must be null",
                   declared.name, value);
  }
  if (value == 0) {
    return failure(Code::invalid_argument, "argument \"{}\" is null", declared.name);
  }
  if (value % static_cast<std::uint64_t>(multiple_of) != 0) {
    return failure(Code::invalid_argument,
                   "argument \"{}\" is {:#x}; this variant needs a multiple of {} bytes",
                   declared.name, value, multiple_of);
  }
  return {};
}

Status check_integer(const KernelArgument& declared,
                     bool is_used,
                     std::int64_t multiple_of,
                     std::int64_t value) {
  if (!is_used && value == 0) return {};
  if (declared.min && value < *declared.min) {
    return failure(Code::invalid_argument, "argument \"{}\" is {}; the least is {}", declared.name,
                   value, *declared.min);
  }
  if (value % multiple_of != 0) {
    return failure(Code::invalid_argument,
                   "argument \"{}\" is {}; this variant needs a multiple of {}", declared.name,
                   value, multiple_of);
  }
  return {};
}

bool is_unset(const std::array<std::uint32_t, 3>& extent) {
  return std::all_of(extent.begin(), extent.end(), [](std::uint32_t n) { return n == 0; });
}

// Fills what the caller left to the manifest's launch rule.
Result<LaunchConfig> complete(const LaunchConfig& config,
                              const CompiledKernel& kernel,
                              std::span<const Argument> arguments,
                              const Device& device) {
  KILN_TRY_ASSIGN(
      const LaunchShape shape,
      launch_shape(kernel.variant, kernel.specialization,
                   integer_arguments(kernel.variant.manifest(), arguments), device.sm_count));
  LaunchConfig complete = config;
  if (is_unset(config.grid)) {
    std::transform(std::begin(shape.grid), std::end(shape.grid), complete.grid.begin(),
                   [](std::int64_t n) { return static_cast<std::uint32_t>(n); });
  }
  const std::array<std::uint32_t, 3> block = {static_cast<std::uint32_t>(shape.block), 1, 1};
  if (is_unset(config.block)) complete.block = block;
  // A kernel is written for its block: with another, it would leave elements unwritten.
  if (complete.block != block) {
    return failure(Code::invalid_argument, "block is {}x{}x{}; this variant is written for {}x1x1",
                   config.block[0], config.block[1], config.block[2], shape.block);
  }
  const std::int64_t shared_bytes =
      config.shared_bytes == 0 ? shape.shared_bytes : std::int64_t{config.shared_bytes};
  const std::int64_t most =
      std::int64_t{device.most_shared_bytes} - kernel.artifact.resources.shared_bytes;
  if (shared_bytes > most) {
    return failure(Code::invalid_argument,
                   "{} bytes of dynamic shared memory are asked for; device {} has {} to give",
                   shared_bytes, device.ordinal, most);
  }
  complete.shared_bytes = static_cast<std::uint32_t>(shared_bytes);
  if (std::find(complete.grid.begin(), complete.grid.end(), 0U) != complete.grid.end()) {
    return failure(Code::invalid_argument, "grid {}x{}x{} has an extent of 0", complete.grid[0],
                   complete.grid[1], complete.grid[2]);
  }
  return complete;
}

}  // namespace

Argument Argument::of_pointer(const void* value) {
  Argument argument{.kind = ArgumentKind::pointer, .pointer = 0};
  argument.pointer = reinterpret_cast<std::uint64_t>(value);
  return argument;
}

Argument Argument::of_int32(std::int32_t value) {
  return {.kind = ArgumentKind::int32, .int32 = value};
}

Argument Argument::of_int64(std::int64_t value) {
  return {.kind = ArgumentKind::int64, .int64 = value};
}

Argument Argument::of_float32(float value) {
  return {.kind = ArgumentKind::float32, .float32 = value};
}

Status check_arguments(const CompiledKernel& kernel, std::span<const Argument> arguments) {
  const Manifest& manifest = kernel.variant.manifest();
  const auto& declared = manifest.arguments;
  const auto& layout = kernel.artifact.layout;
  if (arguments.size() != declared.size()) {
    return failure(Code::invalid_argument, "{} arguments are given; \"{}\" takes {}",
                   arguments.size(), manifest.name, declared.size());
  }
  if (layout.size() != declared.size()) {
    return failure(Code::invalid_argument,
                   "the manifest of \"{}\" lists {} arguments; the compiled kernel takes {}",
                   manifest.name, declared.size(), layout.size());
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    if (argument.kind != declared[i].kind) {
      return failure(Code::invalid_argument, "argument \"{}\" is given as {}; it is a {}",
                     declared[i].name, kind_name(argument.kind), kind_name(declared[i].kind));
    }
    if (layout[i].size_bytes != kind_bytes(argument.kind)) {
      return failure(Code::invalid_argument,
                     "argument \"{}\" has {} bytes; the compiled kernel takes {}", declared[i].name,
                     kind_bytes(argument.kind), layout[i].size_bytes);
    }
    const std::int64_t multiple_of = kernel.specialization.multiple_of[i];
    const bool is_used = kernel.specialization.is_used[i];
    switch (argument.kind) {
      case ArgumentKind::pointer:
        KILN_TRY(check_pointer(declared[i], is_used, multiple_of, argument.pointer));
        break;
      case ArgumentKind::int32:
        KILN_TRY(check_integer(declared[i], is_used, multiple_of, argument.int32));
        break;
      case ArgumentKind::int64:
        KILN_TRY(check_integer(declared[i], is_used, multiple_of, argument.int64));
        break;
      case ArgumentKind::float32:
        break;
    }
  }
  return {};
}

IntegerArguments integer_arguments(const Manifest& manifest, std::span<const Argument> arguments) {
  IntegerArguments integers;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = manifest.arguments[i].name;
    if (arguments[i].kind == ArgumentKind::int32) integers.emplace_back(name, arguments[i].int32);
    if (arguments[i].kind == ArgumentKind::int64) integers.emplace_back(name, arguments[i].int64);
  }
  return integers;
}

Status launch(Kernel& kernel, const LaunchConfig& config, std::span<const Argument> arguments) {
  KILN_TRY(check_arguments(kernel.compiled(), arguments));
  KILN_TRY_ASSIGN(const Kernel::Loaded loaded, kernel.loaded());
  KILN_TRY_ASSIGN(const LaunchConfig shape,
                  complete(config, kernel.compiled(), arguments, *loaded.device));
  const Driver& driver = *loaded.module->driver;
  KILN_TRY_ASSIGN(const CurrentContext current, CurrentContext::enter(driver, *loaded.device));

  if (config.check_memory) {
    KILN_TRY(check_memory(kernel.compiled().variant, arguments, loaded.device->ordinal,
                          DriverMemory(driver)));
  }

  std::vector<void*> values;
  values.reserve(arguments.size());
  for (const Argument& argument : arguments) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the driver only reads through it
    values.push_back(const_cast<std::uint64_t*>(&argument.pointer));
  }
  CUlaunchConfig native{};
  native.gridDimX = shape.grid[0];
  native.gridDimY = shape.grid[1];
  native.gridDimZ = shape.grid[2];
  native.blockDimX = shape.block[0];
  native.blockDimY = shape.block[1];
  native.blockDimZ = shape.block[2];
  native.sharedMemBytes = shape.shared_bytes;
  native.hStream = shape.stream;
  // A CUkernel may stand where a CUfunction is asked for; the current context picks its function.
  const CUresult result = driver.api().cuLaunchKernelEx(
      &native, reinterpret_cast<CUfunction>(loaded.module->kernel), values.data(), nullptr);
  if (result == CUDA_SUCCESS) return {};  // no message is made for nothing
  return driver.check(result, Code::launch_failed,
                      fmt::format("launching \"{}\"", kernel.compiled().variant.manifest().name));
}

}  // namespace kiln
