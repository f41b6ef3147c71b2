// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compares a kernel with its template's reference on the same random inputs, bit by bit.

#include "runtime/kernel.h"
#include "support/status.h"
#include "templates/tensor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kiln {

struct OutputCheck {
  std::string name;
  std::int64_t elements = 0;
  std::int64_t mismatches = 0;   // elements with other bits, or that neither kernel wrote
  std::int64_t stray_bytes = 0;  // written by either kernel where no element is

  struct Difference {
    std::vector<std::int64_t> index;
    std::uint64_t bits = 0;
    std::uint64_t reference_bits = 0;
  };
  std::optional<Difference> first = {};

  bool is_equal() const { return mismatches == 0 && stray_bytes == 0; }
};

// What a kernel left in the memory of an output, guards included, that was full of `pattern`.
struct WrittenOutput {
  std::byte pattern;
  std::vector<std::byte> bytes;
};

// The patterns differ, so that an element that neither kernel wrote is a mismatch.
OutputCheck compare_output(const TensorLayout& layout,
                           WrittenOutput kernel,
                           WrittenOutput reference);

// Runs both on the default stream of the kernel's device. `reference` is of the same device and has
// the same parameters; `integers` are complete. The codes of Workload::make and launch.
Result<std::vector<OutputCheck>> check_kernel(Kernel& kernel,
                                              Kernel& reference,
                                              const IntegerArguments& integers,
                                              std::uint64_t seed);

}  // namespace kiln
