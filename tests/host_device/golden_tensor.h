// SPDX-License-Identifier: Apache-2.0
#pragma once

// What names, types and metadata of golden vectors mean.

#include "support/status.h"
#include "tests/support/safetensors.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace kiln {

// What an output's name says: out_bf16 is the activations, out_fp8_e4m3_div_full is FP8.
struct OutputName {
  std::string argument;
  std::string format;
  std::string reciprocal;  // empty: none
};

Result<OutputName> parse_output_name(const std::string& name);

std::size_t bytes_of(const Tensor& tensor);
// Of the dimension `from_last` before the last; 1 where there is none.
std::int64_t extent(const Tensor& tensor, std::size_t from_last);
// The parameter of the activation type, from a tensor of it.
Result<std::string> dtype_of(const Tensor& tensor);
// The most elements of one access that divides rows of so many.
std::int64_t widest_access(std::int64_t columns);
Result<float> read_eps(const Safetensors& file);
// Adds fp32 results by the bits of their arguments.
Status add_known(const Tensor& arguments,
                 const Tensor& results,
                 std::map<std::uint32_t, float>& known);

}  // namespace kiln
