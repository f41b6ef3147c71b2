// SPDX-License-Identifier: Apache-2.0
#pragma once

// Static per-tensor FP8: q = convert(float(value) * (1 / input_scale)), rounded to nearest even,
// saturating.

#include "kiln/ptx.cuh"
#include "kiln/types.cuh"

namespace kiln {

template <Reciprocal reciprocal>
__device__ __forceinline__ float inverse_of(float input_scale) {
  if constexpr (reciprocal == Reciprocal::rcp_rn) {
    return __frcp_rn(input_scale);
  } else {
    return divide_full(1.0f, input_scale);
  }
}

// In this order a NaN becomes `largest`.
__device__ __forceinline__ float clamp(float value, float largest) {
  return fmaxf(fminf(value, largest), -largest);
}

template <Out format, Reciprocal reciprocal, typename T>
__device__ __forceinline__ Fp8Pair quantize(Pair<T> value, float inverse) {
  static_assert(format == Out::e4m3 || format == Out::e5m2);
  constexpr float largest = format == Out::e4m3 ? 448.0f : 57344.0f;
  float a = __fmul_rn(first(value), inverse);
  float b = __fmul_rn(second(value), inverse);
  if constexpr (reciprocal == Reciprocal::div_full) {
    a = clamp(a, largest);
    b = clamp(b, largest);
  }
  if constexpr (format == Out::e4m3) {
    return convert_to_e4m3(a, b);
  } else {
    return convert_to_e5m2(a, b);
  }
}

template <Out format, Reciprocal reciprocal, typename T, int pairs>
__device__ __forceinline__ void quantize(const Pair<T> (&values)[pairs],
                                         float inverse,
                                         Fp8Pair (&quantized)[pairs]) {
#pragma unroll
  for (int i = 0; i < pairs; ++i)
    quantized[i] = quantize<format, reciprocal>(values[i], inverse);
}

}  // namespace kiln
