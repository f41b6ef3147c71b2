// SPDX-License-Identifier: Apache-2.0
#pragma once

// Values for the inputs of a kernel that is checked or timed. The same seed gives the same bytes
// everywhere.

#include "support/status.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace kiln {

// `count` elements of a manifest's dtype: about normally distributed floating-point values, or
// bytes of any value where an element is one byte. unsupported: a dtype that counts or points.
Result<std::vector<std::byte>> random_elements(std::string_view dtype,
                                               std::size_t count,
                                               std::uint64_t seed);

// What a scale may be: from 0.01 to 0.03. unsupported: not f32, bf16 or f16.
Result<std::vector<std::byte>> random_scales(std::string_view dtype,
                                             std::size_t count,
                                             std::uint64_t seed);

// Elements that random data have not: NaN, infinities, the largest values, the least, zeros. None
// where an element is one byte: random bytes have them all.
std::vector<std::uint32_t> extreme_elements(std::string_view dtype);

}  // namespace kiln
