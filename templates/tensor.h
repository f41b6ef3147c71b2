// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a variant's pointer arguments point to, for given integer arguments: dtype, shape, strides.
// For whatever makes arguments on its own, as checks and benchmarks do.

#include "support/status.h"
#include "templates/variant.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

struct TensorLayout {
  std::string name;
  std::string_view dtype;
  std::int64_t element_bytes = 0;
  bool is_output = false;
  bool is_positive = false;           // holds a scale
  std::string in_place_of{};          // see KernelArgument
  std::vector<std::int64_t> shape;    // outermost first
  std::vector<std::int64_t> strides;  // elements, one a dimension; the last is 1

  std::int64_t element_count() const;
  // Elements from the first to behind the last, gaps included.
  std::int64_t span() const;
};

// All integer arguments of the variant in the manifest's order. One that is not given is: 0 if the
// variant does not use it; what makes a tensor dense if it is a stride; else the manifest's
// example. invalid_argument: an unknown name, or nothing to take a value from.
Result<IntegerArguments> complete_arguments(const Variant& variant, const IntegerArguments& given);

// The pointers that the variant uses, in the manifest's order; `arguments` are complete.
// unsupported: a manifest that does not say an argument's shape.
Result<std::vector<TensorLayout>> tensor_layouts(const Variant& variant,
                                                 const IntegerArguments& arguments);

// Whether an element of one may lie where one of the other does, both at these addresses. Exact for
// dense tensors and for slices of the same rows; else it may say yes for two that only interleave.
bool may_overlap(const TensorLayout& a,
                 std::uint64_t a_address,
                 const TensorLayout& b,
                 std::uint64_t b_address);

}  // namespace kiln
