// SPDX-License-Identifier: Apache-2.0
#pragma once

// Results of a GPU for instructions that a CPU does not have, for kernels that run on the CPU.

#include <cstdint>
#include <map>
#include <set>

namespace kiln::host {

// By the bits of the argument.
struct DeviceValues {
  std::map<std::uint32_t, float> reciprocal_square_root;
  std::map<std::uint32_t, float> inverse_div_full;  // div.full.f32 of 1 by the argument
  std::map<std::uint32_t, float> exponential;
  std::map<std::uint32_t, float> hyperbolic_tangent;
  // Reciprocal square roots of arguments that are not known. One of them is served where it is the
  // correctly rounded result or a neighbour of it, which is as near as a GPU comes.
  std::set<float> reciprocal_square_roots;
};

// 1 / sqrt(value), rounded once, to nearest even.
float correct_reciprocal_square_root(float value);

// What run_grid() serves from now on: borrowed until replaced; null: nothing is known.
void set_device_values(const DeviceValues* values);

}  // namespace kiln::host
