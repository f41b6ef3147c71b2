// SPDX-License-Identifier: Apache-2.0
#pragma once

// Launching: arguments are checked against the manifest and the image's parameter layout, then
// handed to the driver. Allocates nothing on the device, never synchronizes unless it is to check
// memory, and leaves the caller's current context as it is.

#include "runtime/kernel.h"
#include "support/status.h"

#include <cuda.h>

#include <array>
#include <cstdint>
#include <span>

namespace kiln {

// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): one member of a union
struct Argument {
  ArgumentKind kind = ArgumentKind::pointer;
  union {
    std::uint64_t pointer = 0;
    std::int32_t int32;
    std::int64_t int64;
    float float32;
  };

  static Argument of_pointer(const void* value);
  static Argument of_int32(std::int32_t value);
  static Argument of_int64(std::int64_t value);
  static Argument of_float32(float value);
};

struct LaunchConfig {
  std::array<std::uint32_t, 3> grid{};   // all 0: the manifest's launch rule
  std::array<std::uint32_t, 3> block{};  // all 0: likewise; else it must be the rule's
  std::uint32_t shared_bytes = 0;        // dynamic; 0: the rule's
  CUstream stream = nullptr;             // nullptr: the default stream of the kernel's device
  bool check_memory = false;             // see memory_check.h; waits for the device
};

// invalid_argument names the argument, its value and what is allowed: count, type, size, null or
// misaligned pointers, integers below their least or not a multiple.
Status check_arguments(const CompiledKernel& kernel, std::span<const Argument> arguments);

// The integer arguments by name, for launch_shape().
IntegerArguments integer_arguments(const Manifest& manifest, std::span<const Argument> arguments);

// The codes of check_arguments, check_memory and Kernel::loaded; launch_failed with the driver's
// code.
Status launch(Kernel& kernel, const LaunchConfig& config, std::span<const Argument> arguments);

}  // namespace kiln
