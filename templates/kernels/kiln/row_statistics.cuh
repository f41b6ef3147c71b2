// SPDX-License-Identifier: Apache-2.0
#pragma once

// Mean and sum of squared deviations of a row, in the order of PyTorch's vectorized LayerNorm: 128
// threads, of which thread t takes the groups of four elements t, t + 128, t + 256, …; then a fold
// within each warp, then one over the four warps.

#include "kiln/row_slice.cuh"
#include "kiln/types.cuh"

namespace kiln {

constexpr int kRowWarps = kRowThreads / 32;

struct Moments {
  float count;
  float mean;
  float m2;  // sum of squared deviations from the mean
};

// `reciprocal` is 1 / count, the new value counted, correctly rounded.
__device__ __forceinline__ void push(Moments& moments, float value, float reciprocal) {
  const float delta = __fsub_rn(value, moments.mean);
  moments.mean = __fmaf_rn(delta, reciprocal, moments.mean);
  moments.m2 = __fmaf_rn(delta, __fsub_rn(value, moments.mean), moments.m2);
}

// `reciprocal` is 1 / (a.count + b.count), correctly rounded.
__device__ __forceinline__ Moments combine(const Moments& b, const Moments& a, float reciprocal) {
  const float share_a = __fmul_rn(a.count, reciprocal);
  const float share_b = __fmul_rn(b.count, reciprocal);
  const float delta = __fsub_rn(b.mean, a.mean);
  return {a.count + b.count, __fmaf_rn(a.mean, share_a, __fmul_rn(share_b, b.mean)),
          __fmaf_rn(__fmul_rn(__fmul_rn(delta, delta), a.count), share_b, __fadd_rn(a.m2, b.m2))};
}

template <bool is_even>
__device__ __forceinline__ Moments combine(const Moments& b, const Moments& a) {
  const float count = a.count + b.count;
  // Written as a division, a constant's reciprocal is computed by the compiler.
  if constexpr (is_even) return combine(b, a, 1.0f / count);
  if (count == 0.0f) return b;
  return combine(b, a, __frcp_rn(count));
}

template <int hidden, typename T>
__device__ __forceinline__ Moments thread_moments(const RowSlice<hidden, T>& slice) {
  Moments moments = {0.0f, 0.0f, 0.0f};
#pragma unroll
  for (int i = 0; i < slice.kGroups; ++i) {
    if (!slice.has_group(i)) break;
    const float count = 4 * i;
    push(moments, first(slice.group[i][0]), 1.0f / (count + 1));
    push(moments, second(slice.group[i][0]), 1.0f / (count + 2));
    push(moments, first(slice.group[i][1]), 1.0f / (count + 3));
    push(moments, second(slice.group[i][1]), 1.0f / (count + 4));
    moments.count = count + 4;
  }
  return moments;
}

// The result is lane 0's.
template <bool is_even>
__device__ __forceinline__ Moments fold_warp(Moments moments) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    Moments upper = moments;
    if constexpr (!is_even) upper.count = __shfl_down_sync(0xFFFFFFFFu, moments.count, offset);
    upper.mean = __shfl_down_sync(0xFFFFFFFFu, moments.mean, offset);
    upper.m2 = __shfl_down_sync(0xFFFFFFFFu, moments.m2, offset);
    moments = combine<is_even>(moments, upper);
  }
  return moments;
}

// All threads get the row's moments. One barrier: `shared` may be used again only after another
// barrier, so a loop over rows alternates between two.
template <int hidden, typename T>
__device__ __forceinline__ Moments row_moments(const RowSlice<hidden, T>& slice,
                                               Moments (&shared)[kRowWarps]) {
  constexpr bool is_even = RowSlice<hidden, T>::kIsEven;
  Moments moments = fold_warp<is_even>(thread_moments(slice));
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = moments;
  __syncthreads();

  Moments warp[kRowWarps];
#pragma unroll
  for (int i = 0; i < kRowWarps; ++i) {
    warp[i] = shared[i];
    if constexpr (is_even) warp[i].count = static_cast<float>(hidden / kRowWarps);
  }
  return combine<is_even>(combine<is_even>(warp[0], warp[2]), combine<is_even>(warp[1], warp[3]));
}

__device__ __forceinline__ float reciprocal_deviation(const Moments& moments,
                                                      int hidden,
                                                      float eps) {
  return rsqrtf(__fadd_rn(__fdiv_rn(moments.m2, static_cast<float>(hidden)), eps));
}

}  // namespace kiln
