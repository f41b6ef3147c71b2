// SPDX-License-Identifier: Apache-2.0
#include "runtime/workload.h"

#include "runtime/random_data.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace kiln {
namespace {

constexpr float kEps = 1e-6F;
// A prime, so that no two rows of a tensor repeat each other for long.
constexpr std::int64_t kMostRandomElements = 1'048'573;
// A NaN in every floating-point type: a kernel that reads what it should not shows it.
constexpr std::byte kInputPattern{0xFF};

std::size_t bytes_of(std::int64_t elements, const TensorLayout& layout) {
  return static_cast<std::size_t>(saturating_product(elements, layout.element_bytes));
}

Status upload_random(const Workload::Tensor& tensor, std::uint64_t seed) {
  const TensorLayout& layout = tensor.layout;
  const auto count =
      static_cast<std::size_t>(std::min<std::int64_t>(layout.span(), kMostRandomElements));
  KILN_TRY_ASSIGN(const std::vector<std::byte> elements,
                  layout.is_positive ? random_scales(layout.dtype, count, seed)
                                     : random_elements(layout.dtype, count, seed));
  return upload_repeated(tensor.memory, tensor.data(), tensor.span_bytes, elements);
}

// One in each of the last rows, so that none hides another. Not in a tensor of few rows, such as a
// bias: what it holds reaches every row of the output.
Status upload_extremes(const Workload::Tensor& tensor) {
  const TensorLayout& layout = tensor.layout;
  const std::vector<std::uint32_t> extremes = extreme_elements(layout.dtype);
  const auto count = static_cast<std::int64_t>(extremes.size());
  const std::int64_t rows = row_count(layout);
  if (layout.is_positive || rows < 2 * count) return {};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t element =
        row_offset(layout, rows - 1 - i) + std::min(i, layout.shape.back() - 1);
    const auto bytes = std::as_bytes(std::span(&extremes[static_cast<std::size_t>(i)], 1));
    KILN_TRY(tensor.memory.upload(tensor.data() + bytes_of(element, layout),
                                  bytes.first(bytes_of(1, layout))));
  }
  return {};
}

Result<std::int64_t> value_of(const IntegerArguments& integers, const KernelArgument& argument) {
  const auto found = std::find_if(integers.begin(), integers.end(),
                                  [&](const auto& entry) { return entry.first == argument.name; });
  if (found == integers.end()) {
    return failure(Code::invalid_argument, "argument \"{}\" must be given", argument.name);
  }
  if (argument.kind == ArgumentKind::int32 &&
      found->second > std::numeric_limits<std::int32_t>::max()) {
    return failure(Code::invalid_argument, "argument \"{}\" is {}; it has 32 bits", argument.name,
                   found->second);
  }
  return found->second;
}

}  // namespace

std::int64_t row_count(const TensorLayout& layout) {
  const std::int64_t columns = layout.shape.back();
  return columns == 0 ? 0 : layout.element_count() / columns;
}

std::vector<std::int64_t> row_index(const TensorLayout& layout, std::int64_t row) {
  std::vector<std::int64_t> index(layout.shape.size() - 1);
  for (std::size_t i = index.size(); i-- > 0;) {
    index[i] = row % layout.shape[i];
    row /= layout.shape[i];
  }
  return index;
}

std::int64_t row_offset(const TensorLayout& layout, std::int64_t row) {
  const std::vector<std::int64_t> index = row_index(layout, row);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < index.size(); ++i)
    offset += index[i] * layout.strides[i];
  return offset;
}

std::int64_t moved_bytes(const std::vector<TensorLayout>& layouts) {
  std::int64_t bytes = 0;
  for (const TensorLayout& layout : layouts)
    bytes += layout.element_count() * layout.element_bytes;
  return bytes;
}

std::int64_t held_bytes(const std::vector<TensorLayout>& layouts) {
  std::int64_t bytes = 0;
  for (const TensorLayout& layout : layouts)
    bytes += layout.span() * layout.element_bytes + 2 * static_cast<std::int64_t>(kGuardBytes);
  return bytes;
}

Status upload_repeated(const DeviceMemory& memory,
                       std::byte* to,
                       std::size_t bytes,
                       std::span<const std::byte> data) {
  for (std::size_t done = 0; done < bytes; done += data.size()) {
    KILN_TRY(memory.upload(to + done, data.first(std::min(data.size(), bytes - done))));
  }
  return {};
}

Result<Workload> Workload::make(Kernel& kernel,
                                const IntegerArguments& integers,
                                std::uint64_t seed) {
  const Variant& variant = kernel.compiled().variant;
  KILN_TRY_ASSIGN(const std::vector<TensorLayout> layouts, tensor_layouts(variant, integers));
  KILN_TRY_ASSIGN(Kernel::Loaded loaded, kernel.loaded());
  Workload workload(std::move(loaded));
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    KILN_TRY(workload.add_tensor(layouts[i], seed ^ (i + 1) * 0xD1B54A32D192ED03U)
                 .with_context(layouts[i].name));
  }
  KILN_TRY(workload.add_arguments(variant, integers));
  return workload;
}

Status Workload::add_tensor(const TensorLayout& layout, std::uint64_t seed) {
  const std::size_t span_bytes = bytes_of(layout.span(), layout);
  KILN_TRY_ASSIGN(
      DeviceMemory memory,
      DeviceMemory::allocate(loaded_.module->driver, loaded_.device, span_bytes + 2 * kGuardBytes));
  const Tensor& tensor = tensors_.emplace_back(Tensor{layout, span_bytes, std::move(memory)});
  if (layout.is_output) return {};
  KILN_TRY(fill(tensor, kInputPattern));
  KILN_TRY(upload_random(tensor, seed));
  return upload_extremes(tensor);
}

Status Workload::fill(const Tensor& tensor, std::byte pattern) const {
  const Driver& driver = *loaded_.module->driver;
  if (driver.api().cuMemsetD8 == nullptr) {
    return failure(Code::unavailable, "this CUDA driver has no cuMemsetD8");
  }
  KILN_TRY_ASSIGN(const CurrentContext current, CurrentContext::enter(driver, *loaded_.device));
  return driver.check(
      driver.api().cuMemsetD8(reinterpret_cast<std::uintptr_t>(tensor.memory.address()),
                              std::to_integer<unsigned char>(pattern),
                              tensor.span_bytes + 2 * kGuardBytes),
      Code::launch_failed, "filling device memory");
}

Status Workload::add_arguments(const Variant& variant, const IntegerArguments& integers) {
  for (const KernelArgument& declared : variant.manifest().arguments) {
    if (declared.kind == ArgumentKind::pointer) {
      const auto tensor = std::find_if(tensors_.begin(), tensors_.end(), [&](const Tensor& t) {
        return t.layout.name == declared.name;
      });
      arguments_.push_back(
          Argument::of_pointer(tensor == tensors_.end() ? nullptr : tensor->data()));
    } else if (declared.kind == ArgumentKind::float32) {
      const bool is_used = declared.used_when.holds(variant.parameters());
      arguments_.push_back(Argument::of_float32(is_used ? kEps : 0));
    } else {
      KILN_TRY_ASSIGN(const std::int64_t value, value_of(integers, declared));
      arguments_.push_back(declared.kind == ArgumentKind::int64
                               ? Argument::of_int64(value)
                               : Argument::of_int32(static_cast<std::int32_t>(value)));
    }
  }
  return {};
}

Status Workload::fill_outputs(std::byte pattern) const {
  for (const Tensor& tensor : tensors_) {
    if (tensor.layout.is_output) KILN_TRY(fill(tensor, pattern));
  }
  return {};
}

Result<std::vector<std::byte>> Workload::download(const Tensor& tensor) {
  std::vector<std::byte> bytes(tensor.span_bytes + 2 * kGuardBytes);
  KILN_TRY(tensor.memory.download(bytes, tensor.memory.address()));
  return bytes;
}

}  // namespace kiln
