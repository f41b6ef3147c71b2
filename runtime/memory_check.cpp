// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_check.h"

#include "templates/tensor.h"

#include <cmath>
#include <string>
#include <vector>

namespace kiln {
namespace {

struct PlacedTensor {
  TensorLayout layout;
  std::uint64_t address;

  std::uint64_t bytes() const {
    return static_cast<std::uint64_t>(saturating_product(layout.span(), layout.element_bytes));
  }
};

Result<std::vector<PlacedTensor>> placed_tensors(const Variant& variant,
                                                 std::span<const Argument> arguments) {
  const Manifest& manifest = variant.manifest();
  const IntegerArguments integers = integer_arguments(manifest, arguments);
  for (const auto& [name, value] : integers) {
    if (value >= 0) continue;
    return failure(Code::invalid_argument, "argument \"{}\" is {}; memory can be checked from 0 on",
                   name, value);
  }
  KILN_TRY_ASSIGN(auto layouts, tensor_layouts(variant, integers));
  std::vector<PlacedTensor> tensors;
  auto layout = layouts.begin();
  for (std::size_t i = 0; i < arguments.size() && layout != layouts.end(); ++i) {
    if (layout->name != manifest.arguments[i].name) continue;
    tensors.push_back({std::move(*layout), arguments[i].pointer});
    ++layout;
  }
  return tensors;
}

Status check_allocation(const PlacedTensor& tensor, int device, const MemoryInspector& memory) {
  KILN_TRY_ASSIGN(const Allocation allocation, memory.allocation(tensor.address));
  if (allocation.device != device) {
    return failure(Code::invalid_argument, "{:#x} is memory of device {}; the kernel is on {}",
                   tensor.address, allocation.device, device);
  }
  const std::uint64_t left = allocation.begin + allocation.bytes - tensor.address;
  if (tensor.bytes() > left) {
    return failure(Code::invalid_argument, "it reaches over {} bytes; its allocation has {} left",
                   tensor.bytes(), left);
  }
  return {};
}

Status check_scale(const PlacedTensor& tensor, const MemoryInspector& memory) {
  if (!tensor.layout.is_positive || tensor.layout.dtype != "f32") return {};
  KILN_TRY_ASSIGN(const float value, memory.read_float(tensor.address));
  if (std::isfinite(value) && value > 0) return {};
  return failure(Code::invalid_argument, "it is {}; a scale must be finite and above 0", value);
}

bool is_in_place(const PlacedTensor& output, const PlacedTensor& other) {
  return output.layout.in_place_of == other.layout.name && output.address == other.address &&
         output.layout.strides == other.layout.strides;
}

Status check_overlap(const PlacedTensor& a, const PlacedTensor& b) {
  if (!a.layout.is_output && !b.layout.is_output) return {};
  if (is_in_place(a, b) || is_in_place(b, a)) return {};
  if (!may_overlap(a.layout, a.address, b.layout, b.address)) return {};
  return failure(Code::invalid_argument, R"(argument "{}" overlaps argument "{}")",
                 b.layout.is_output ? b.layout.name : a.layout.name,
                 b.layout.is_output ? a.layout.name : b.layout.name);
}

}  // namespace

Result<Allocation> DriverMemory::allocation(std::uint64_t address) const {
  if (driver_.api().cuPointerGetAttributes == nullptr) {
    return failure(Code::unavailable, "this CUDA driver cannot describe memory");
  }
  Allocation allocation;
  CUdeviceptr begin = 0;
  std::size_t bytes = 0;
  CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                 CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                 CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void* values[] = {&allocation.device, &begin, &bytes};
  KILN_TRY(driver_.check(driver_.api().cuPointerGetAttributes(3, names, values, address),
                         Code::invalid_argument, "describing memory"));
  // The driver succeeds for what it does not know, too.
  if (begin == 0) {
    return failure(Code::invalid_argument, "{:#x} is not memory of a device", address);
  }
  allocation.begin = begin;
  allocation.bytes = bytes;
  return allocation;
}

Result<float> DriverMemory::read_float(std::uint64_t address) const {
  if (driver_.api().cuMemcpyDtoH == nullptr) {
    return failure(Code::unavailable, "this CUDA driver cannot copy memory");
  }
  float value = 0;
  KILN_TRY(driver_.check(driver_.api().cuMemcpyDtoH(&value, address, sizeof(value)),
                         Code::launch_failed, "reading a scale"));
  return value;
}

Status check_memory(const Variant& variant,
                    std::span<const Argument> arguments,
                    int device,
                    const MemoryInspector& memory) {
  KILN_TRY_ASSIGN(const auto tensors, placed_tensors(variant, arguments));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const PlacedTensor& tensor = tensors[i];
    const std::string context = "argument \"" + tensor.layout.name + "\"";
    KILN_TRY(check_allocation(tensor, device, memory).with_context(context));
    KILN_TRY(check_scale(tensor, memory).with_context(context));
    for (std::size_t j = 0; j < i; ++j)
      KILN_TRY(check_overlap(tensors[j], tensor));
  }
  return {};
}

}  // namespace kiln
