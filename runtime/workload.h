// SPDX-License-Identifier: Apache-2.0
#pragma once

// Arguments for a kernel, made from what its manifest says of them: random inputs, outputs full of
// a pattern, dense or strided as the integer arguments ask. For checks and benchmarks; hosts bring
// their own memory.

#include "runtime/device_memory.h"
#include "runtime/kernel.h"
#include "runtime/launch.h"
#include "support/status.h"
#include "templates/tensor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace kiln {

// Before and behind every tensor lie this many bytes of its own memory.
inline constexpr std::size_t kGuardBytes = 1024;

// Rows are what the last dimension counts the elements of, numbered in order.
std::int64_t row_count(const TensorLayout& layout);
std::vector<std::int64_t> row_index(const TensorLayout& layout, std::int64_t row);
// Elements from the tensor's first to the row's first.
std::int64_t row_offset(const TensorLayout& layout, std::int64_t row);

// Bytes that a launch has to read or write: each element once, gaps left out.
std::int64_t moved_bytes(const std::vector<TensorLayout>& layouts);
// Bytes that a Workload allocates.
std::int64_t held_bytes(const std::vector<TensorLayout>& layouts);

// Repeats `data` until `bytes` are filled.
Status upload_repeated(const DeviceMemory& memory,
                       std::byte* to,
                       std::size_t bytes,
                       std::span<const std::byte> data);

class Workload {
 public:
  struct Tensor {
    TensorLayout layout;
    std::size_t span_bytes;
    DeviceMemory memory;

    std::byte* data() const { return memory.address() + kGuardBytes; }
  };

  // On the kernel's device; `integers` are complete. invalid_argument, unsupported (no shape or
  // values for an argument), out_of_memory.
  static Result<Workload> make(Kernel& kernel,
                               const IntegerArguments& integers,
                               std::uint64_t seed);

  const std::vector<Tensor>& tensors() const { return tensors_; }
  // For launch(), of any kernel with the same arguments.
  std::span<const Argument> arguments() const { return arguments_; }

  // Everything that outputs hold, gaps and guards included.
  Status fill_outputs(std::byte pattern) const;
  // A tensor between its guards, after everything launched on the default stream.
  static Result<std::vector<std::byte>> download(const Tensor& tensor);

 private:
  explicit Workload(Kernel::Loaded loaded) : loaded_(std::move(loaded)) {}
  Status add_tensor(const TensorLayout& layout, std::uint64_t seed);
  Status fill(const Tensor& tensor, std::byte pattern) const;
  Status add_arguments(const Variant& variant, const IntegerArguments& integers);

  Kernel::Loaded loaded_;
  std::vector<Tensor> tensors_;
  std::vector<Argument> arguments_;
};

}  // namespace kiln
