// SPDX-License-Identifier: Apache-2.0
#pragma once

// The outputs of rows: activations in their own type and FP8, any subset. A thread brings a few
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

  // `begin + offset` elements from the start; `offset` is a constant where rows are unrolled.
  template <Out out, Reciprocal reciprocal, int vector, int pairs>
  __device__ __forceinline__ void store(long long begin,
                                        int offset,
                                        const Pair<T> (&m)[pairs]) const {
    if constexpr (contains(out, kActivation)) kiln::store<vector>(activation + begin + offset, m);
    Fp8Pair q[pairs];
    if constexpr (contains(out, Out::e4m3)) {
      quantize<Out::e4m3, reciprocal>(m, inverse_scale, q);
      kiln::store<vector>(e4m3 + begin + offset, q);
    }
    if constexpr (contains(out, Out::e5m2)) {
      quantize<Out::e5m2, reciprocal>(m, inverse_scale, q);
      kiln::store<vector>(e5m2 + begin + offset, q);
    }
  }
};

}  // namespace kiln
