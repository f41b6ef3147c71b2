// SPDX-License-Identifier: Apache-2.0
#pragma once

// What is done to a normalized row and to a residual, four elements at a time.

#include "kiln/ptx.cuh"
#include "kiln/types.cuh"

namespace kiln {

// The order of rounding, with y = rstd * (x - mean) and b() for rounding to the activation type.
enum class Recipe {
  aten,       // m = b(b(b(y) * b(1 + scale)) + shift)   r = b(residual + b(update * gate))
  wan,        // m = b(y * (1 + scale) + shift) in fp32  r = b(residual + update * gate)
  wan_affine  // m = b(fma(scale, y, shift))             likewise
};

// Scale, shift and gate: four elements, in the activation type or in fp32.
template <typename T, Recipe recipe>
struct Modulation {
  using Element = float;
  float value[4];
};
template <typename T>
struct Modulation<T, Recipe::aten> {
  using Element = T;
  Pair<T> value[2];
};

// What the normalized rows are multiplied with.
template <typename T>
__device__ __forceinline__ Modulation<T, Recipe::aten> factor_of(
    const Modulation<T, Recipe::aten>& scale) {
  return {add(ones<T>(), scale.value[0]), add(ones<T>(), scale.value[1])};
}

template <typename T, Recipe recipe>
__device__ __forceinline__ Modulation<T, recipe> factor_of(const Modulation<T, recipe>& scale) {
  if constexpr (recipe == Recipe::wan_affine) return scale;
  Modulation<T, recipe> factor;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    factor.value[i] = __fadd_rn(1.0f, scale.value[i]);
  return factor;
}

template <typename T>
__device__ __forceinline__ Pair<T> modulate(float y0,
                                            float y1,
                                            const Modulation<T, Recipe::aten>& factor,
                                            const Modulation<T, Recipe::aten>& shift,
                                            int pair) {
  return add(multiply(round_to<T>(y0, y1), factor.value[pair]), shift.value[pair]);
}

template <typename T, Recipe recipe>
__device__ __forceinline__ Pair<T> modulate(float y0,
                                            float y1,
                                            const Modulation<T, recipe>& factor,
                                            const Modulation<T, recipe>& shift,
                                            int pair) {
  const auto modulate_one = [&](float y, int i) {
    if constexpr (recipe == Recipe::wan_affine) {
      return __fmaf_rn(factor.value[i], y, shift.value[i]);
    } else {
      return __fadd_rn(__fmul_rn(y, factor.value[i]), shift.value[i]);
    }
  };
  return round_to<T>(modulate_one(y0, 2 * pair), modulate_one(y1, 2 * pair + 1));
}

template <typename T>
__device__ __forceinline__ Pair<T> add_gated(Pair<T> residual,
                                             Pair<T> update,
                                             const Modulation<T, Recipe::aten>& gate,
                                             int pair) {
  return add(residual, multiply(update, gate.value[pair]));
}

template <typename T, Recipe recipe>
__device__ __forceinline__ Pair<T> add_gated(Pair<T> residual,
                                             Pair<T> update,
                                             const Modulation<T, recipe>& gate,
                                             int pair) {
  const int i = 2 * pair;
  return round_to<T>(__fadd_rn(first(residual), __fmul_rn(first(update), gate.value[i])),
                     __fadd_rn(second(residual), __fmul_rn(second(update), gate.value[i + 1])));
}

}  // namespace kiln
