// SPDX-License-Identifier: Apache-2.0
#pragma once

// The outputs of rows: activations in their own type and FP8, any subset. A thread brings four
// neighbouring elements at a time.

#include "kiln/access.cuh"
#include "kiln/quantize.cuh"
#include "kiln/types.cuh"

namespace kiln {

template <typename T>
struct RowOutput {
  T* activation;
  Fp8* e4m3;
  Fp8* e5m2;
  RowStride stride;  // of all, in elements
  float inverse_scale;

  template <Out out, Reciprocal reciprocal>
  __device__ __forceinline__ void read_scale(const float* input_scale) {
    if constexpr (contains(out, kFp8)) inverse_scale = inverse_of<reciprocal>(*input_scale);
  }

  // Elements `column` to `column + 3` of the row that begins `row_offset` elements from the start.
  template <Out out, Reciprocal reciprocal, int vector>
  __device__ __forceinline__ void store(long long row_offset,
                                        int column,
                                        const Pair<T> (&m)[2]) const {
    const long long element = row_offset + column;
    if constexpr (contains(out, kActivation)) kiln::store<vector>(activation + element, m);
    Fp8Pair q[2];
    if constexpr (contains(out, Out::e4m3)) {
      quantize<Out::e4m3, reciprocal>(m, inverse_scale, q);
      kiln::store<vector>(e4m3 + element, q);
    }
    if constexpr (contains(out, Out::e5m2)) {
      quantize<Out::e5m2, reciprocal>(m, inverse_scale, q);
      kiln::store<vector>(e5m2 + element, q);
    }
  }
};

}  // namespace kiln
