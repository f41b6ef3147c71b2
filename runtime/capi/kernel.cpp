// SPDX-License-Identifier: Apache-2.0
#include "runtime/capi/boundary.h"
#include "runtime/capi/handles.h"
#include "runtime/launch.h"

#include <span>
#include <vector>

namespace kiln {
namespace {

Result<KernelRequest> kernel_request(const kiln_kernel_spec_t* given) {
  KILN_TRY(require(given, "spec"));
  KILN_TRY_ASSIGN(
      const kiln_kernel_spec_t spec,
      read_options<kiln_kernel_spec_t>(given, KILN_KERNEL_SPEC_INIT, "kiln_kernel_spec_t"));
  KILN_TRY(require(spec.text, "spec.text"));
  KernelRequest request;
  request.spec = spec.text;
  if (spec.target != nullptr) request.target = spec.target;
  request.device = spec.device;
  switch (spec.limit) {
    case KILN_ACQUIRE_COMPILE:
      request.limit = AcquireLimit::compile;
      break;
    case KILN_ACQUIRE_LOAD:
      request.limit = AcquireLimit::load;
      break;
    case KILN_ACQUIRE_MEMORY:
      request.limit = AcquireLimit::memory;
      break;
    default:
      return failure(Code::invalid_argument, "spec.limit is {}; allowed: 0, 1, 2", spec.limit);
  }
  return request;
}

int32_t tier_value(Tier tier) {
  switch (tier) {
    case Tier::memory:
      return KILN_TIER_MEMORY;
    case Tier::disk:
      return KILN_TIER_DISK;
    case Tier::pack:
      return KILN_TIER_PACK;
    case Tier::compiled:
      return KILN_TIER_COMPILED;
  }
  return -1;
}

Result<Argument> to_argument(const kiln_argument_t& given, std::size_t index) {
  if (given.reserved != 0) {
    return failure(Code::invalid_argument, "arguments[{}].reserved is {}; it must be 0", index,
                   given.reserved);
  }
  switch (given.type) {
    case KILN_ARGUMENT_POINTER:
      return Argument::of_pointer(given.value.pointer);
    case KILN_ARGUMENT_INT32:
      return Argument::of_int32(given.value.int32);
    case KILN_ARGUMENT_INT64:
      return Argument::of_int64(given.value.int64);
    case KILN_ARGUMENT_FLOAT32:
      return Argument::of_float32(given.value.float32);
    default:
      return failure(Code::invalid_argument, "arguments[{}].type is {}; allowed: 0 to 3", index,
                     given.type);
  }
}

Result<LaunchConfig> launch_config(const kiln_launch_config_t* given) {
  KILN_TRY_ASSIGN(
      const kiln_launch_config_t config,
      read_options<kiln_launch_config_t>(given, KILN_LAUNCH_CONFIG_INIT, "kiln_launch_config_t"));
  if (config.check_memory > 1) {
    return failure(Code::invalid_argument, "config.check_memory is {}; allowed: 0 and 1",
                   config.check_memory);
  }
  LaunchConfig result;
  result.grid = {config.grid[0], config.grid[1], config.grid[2]};
  result.block = {config.block[0], config.block[1], config.block[2]};
  result.shared_bytes = config.shared_bytes;
  result.stream = config.stream;
  result.check_memory = config.check_memory == 1;
  return result;
}

}  // namespace
}  // namespace kiln

kiln_status_t kiln_kernel_acquire(kiln_context_t* context,
                                  const kiln_kernel_spec_t* spec,
                                  kiln_kernel_t** out_kernel) {
  return kiln::guard([&]() -> kiln::Status {
    KILN_TRY(kiln::require(out_kernel, "out_kernel"));
    *out_kernel = nullptr;
    KILN_TRY(kiln::require(context, "context"));
    KILN_TRY_ASSIGN(const kiln::KernelRequest request, kiln::kernel_request(spec));
    KILN_TRY_ASSIGN(auto kernel, kiln::Kernel::acquire(context->engine, context->devices, request));
    const kiln::CompiledKernel& compiled = kernel->compiled();
    *out_kernel = new kiln_kernel{kernel, compiled.key.hex(), compiled.variant.spec(),
                                  compiled.artifact.target.text()};
    return {};
  });
}

void kiln_kernel_release(kiln_kernel_t* kernel) {
  delete kernel;
}

kiln_status_t kiln_kernel_get_info(const kiln_kernel_t* kernel, kiln_kernel_info_t* out_info) {
  return kiln::guard([&]() -> kiln::Status {
    KILN_TRY(kiln::require(kernel, "kernel"));
    const kiln::Artifact& artifact = kernel->kernel->compiled().artifact;
    kiln_kernel_info_t info = KILN_KERNEL_INFO_INIT;
    info.key = kernel->key.c_str();
    info.spec = kernel->spec.c_str();
    info.target = kernel->target.c_str();
    info.lowered_name = artifact.lowered_name.c_str();
    info.toolchain = artifact.toolchain.c_str();
    info.compile_us = artifact.compile_us;
    info.acquire_us = kernel->kernel->acquired().elapsed_us;
    info.image_bytes = static_cast<int64_t>(artifact.image.size());
    info.tier = kiln::tier_value(kernel->kernel->acquired().tier);
    info.registers = artifact.resources.registers;
    info.shared_bytes = artifact.resources.shared_bytes;
    info.local_bytes = artifact.resources.local_bytes;
    info.spill_store_bytes = artifact.resources.spill_store_bytes;
    info.spill_load_bytes = artifact.resources.spill_load_bytes;
    info.argument_count = static_cast<int32_t>(artifact.layout.size());
    return kiln::write_info(out_info, info, "kiln_kernel_info_t");
  });
}

kiln_status_t kiln_kernel_launch(kiln_kernel_t* kernel,
                                 const kiln_launch_config_t* config,
                                 const kiln_argument_t* arguments,
                                 size_t count) {
  return kiln::guard([&]() -> kiln::Status {
    KILN_TRY(kiln::require(kernel, "kernel"));
    if (count != 0) {
      KILN_TRY(kiln::require(arguments, "arguments"));
    }
    KILN_TRY_ASSIGN(const kiln::LaunchConfig launch_config, kiln::launch_config(config));
    std::vector<kiln::Argument> values;
    values.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      KILN_TRY_ASSIGN(const kiln::Argument value, kiln::to_argument(arguments[i], i));
      values.push_back(value);
    }
    return kiln::launch(*kernel->kernel, launch_config, values);
  });
}
