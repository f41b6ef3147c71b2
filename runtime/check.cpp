// SPDX-License-Identifier: Apache-2.0
#include "runtime/check.h"

#include "runtime/launch.h"
#include "runtime/workload.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace kiln {
namespace {

// Neither is a likely result.
constexpr std::byte kPattern{0xA5};
constexpr std::byte kReferencePattern{0x5A};

std::uint64_t bits_at(const std::byte* element, std::size_t size) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, element, size);
  return bits;
}

void compare_row(const TensorLayout& layout,
                 std::int64_t row,
                 const std::byte* kernel,
                 const std::byte* reference,
                 OutputCheck& check) {
  const auto size = static_cast<std::size_t>(layout.element_bytes);
  const auto columns = static_cast<std::size_t>(layout.shape.back());
  if (std::memcmp(kernel, reference, columns * size) == 0) return;
  for (std::size_t column = 0; column < columns; ++column) {
    const std::uint64_t bits = bits_at(kernel + column * size, size);
    const std::uint64_t reference_bits = bits_at(reference + column * size, size);
    if (bits == reference_bits) continue;
    if (check.mismatches++ > 0) continue;
    check.first = {row_index(layout, row), bits, reference_bits};
    check.first->index.push_back(static_cast<std::int64_t>(column));
  }
}

std::int64_t count_stray(const WrittenOutput& output) {
  return std::count_if(output.bytes.begin(), output.bytes.end(),
                       [&](std::byte byte) { return byte != output.pattern; });
}

Result<std::vector<WrittenOutput>> run(Kernel& kernel,
                                       const Workload& workload,
                                       std::byte pattern) {
  KILN_TRY(workload.fill_outputs(pattern));
  KILN_TRY(launch(kernel, {.check_memory = true}, workload.arguments()));
  std::vector<WrittenOutput> outputs;
  for (const Workload::Tensor& tensor : workload.tensors()) {
    if (!tensor.layout.is_output) continue;
    KILN_TRY_ASSIGN(std::vector<std::byte> bytes, Workload::download(tensor));
    outputs.push_back({pattern, std::move(bytes)});
  }
  return outputs;
}

}  // namespace

OutputCheck compare_output(const TensorLayout& layout,
                           WrittenOutput kernel,
                           WrittenOutput reference) {
  assert(kernel.pattern != reference.pattern);
  assert(kernel.bytes.size() == reference.bytes.size());
  OutputCheck check{.name = layout.name, .elements = layout.element_count()};
  const std::int64_t row_bytes = layout.shape.back() * layout.element_bytes;
  for (std::int64_t row = 0; row < row_count(layout); ++row) {
    const std::int64_t offset =
        static_cast<std::int64_t>(kGuardBytes) + row_offset(layout, row) * layout.element_bytes;
    std::byte* const row_kernel = kernel.bytes.data() + offset;
    std::byte* const row_reference = reference.bytes.data() + offset;
    compare_row(layout, row, row_kernel, row_reference, check);
    // What is left in the end lies outside of all elements.
    std::fill_n(row_kernel, row_bytes, kernel.pattern);
    std::fill_n(row_reference, row_bytes, reference.pattern);
  }
  check.stray_bytes = count_stray(kernel) + count_stray(reference);
  return check;
}

Result<std::vector<OutputCheck>> check_kernel(Kernel& kernel,
                                              Kernel& reference,
                                              const IntegerArguments& integers,
                                              std::uint64_t seed) {
  KILN_TRY_ASSIGN(const Workload workload, Workload::make(kernel, integers, seed));
  KILN_TRY_ASSIGN(auto outputs, run(kernel, workload, kPattern));
  auto expected = run(reference, workload, kReferencePattern);
  if (!expected.is_ok()) return expected.status().with_context("reference");
  std::vector<OutputCheck> checks;
  std::size_t next = 0;
  for (const Workload::Tensor& tensor : workload.tensors()) {
    if (!tensor.layout.is_output) continue;
    checks.push_back(
        compare_output(tensor.layout, std::move(outputs[next]), std::move((*expected)[next])));
    ++next;
  }
  return checks;
}

}  // namespace kiln
