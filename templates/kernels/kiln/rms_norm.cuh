// SPDX-License-Identifier: Apache-2.0
#pragma once

// RMSNorm of queries and keys, over a head or over all heads of a token, with the sum of squares in
// the order of each recipe's oracle. An oracle's thread is called a lane of it; one of our lanes
// takes the part of several.

#include "kiln/access.cuh"
#include "kiln/ptx.cuh"
#include "kiln/qkv_types.cuh"
#include "kiln/types.cuh"

namespace kiln::qkv {

// How neighbouring lanes of a warp share a head: each has 8 neighbouring elements of every chunk.
template <int head_dim>
struct HeadLanes {
  static_assert(head_dim == 64 || head_dim == 128 || head_dim == 256);
  static constexpr int kCount = head_dim == 64 ? 8 : 16;
  static constexpr int kChunk = 8 * kCount;
  static constexpr int kChunks = head_dim / kChunk;

  static __device__ __forceinline__ int lane() { return threadIdx.x % kCount; }
};

template <typename T, int head_dim>
struct HeadSlice {
  using Lanes = HeadLanes<head_dim>;
  Pair<T> chunk[Lanes::kChunks][4];

  static __device__ __forceinline__ int first_element(int chunk) {
    return chunk * Lanes::kChunk + 8 * Lanes::lane();
  }

  template <int vector>
  __device__ __forceinline__ void load(const T* head) {
#pragma unroll
    for (int c = 0; c < Lanes::kChunks; ++c)
      kiln::load<vector>(head + first_element(c), chunk[c]);
  }
};

// Likewise, in fp32.
template <int head_dim>
using HeadValues = float[HeadLanes<head_dim>::kChunks][8];

// Sums, over the lanes that share a head, of what lane j holds for the oracle's lanes count * j +
// i. The oracle folds lane i with lane i + offset, from the largest offset to the smallest.
// Exchanging adds the same pairs, and an addition does not depend on the order of its two operands,
// so all lanes get the oracle's total. All lanes of the warp must call.
template <int lanes, int count>
__device__ __forceinline__ float fold_lanes(float (&sums)[count]) {
#pragma unroll
  for (int offset = lanes / 2; offset > 0; offset /= 2) {
#pragma unroll
    for (int i = 0; i < count; ++i)
      sums[i] = __fadd_rn(sums[i], __shfl_xor_sync(0xFFFFFFFFu, sums[i], offset));
  }
#pragma unroll
  for (int offset = count / 2; offset > 0; offset /= 2) {
#pragma unroll
    for (int i = 0; i < offset; ++i)
      sums[i] = __fadd_rn(sums[i], sums[i + offset]);
  }
  return sums[0];
}

template <int count>
__device__ __forceinline__ float sum_in_order(const float* values) {
  float sum = values[0];
#pragma unroll
  for (int i = 1; i < count; ++i)
    sum = __fadd_rn(sum, values[i]);
  return sum;
}

__device__ __forceinline__ float fused_squares(const float* x, float sum) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
    sum = __fmaf_rn(x[i], x[i], sum);
  return sum;
}

// A lane of the oracle has four elements, a warp of it 128.
template <int head_dim>
__device__ __forceinline__ float square_sum_eager_flux2(const HeadValues<head_dim>& x) {
  constexpr int lanes = HeadLanes<head_dim>::kCount;
  constexpr int warps = HeadLanes<head_dim>::kChunks;
  float warp[warps];
#pragma unroll
  for (int c = 0; c < warps; ++c) {
    float sums[2] = {fused_squares(x[c], 0.0f), fused_squares(x[c] + 4, 0.0f)};
    warp[c] = fold_lanes<lanes>(sums);
  }
  return sum_in_order<warps>(warp);
}

// Four elements a lane of the oracle, and as many 128 further; at 64 one and another 32 further.
template <int head_dim>
__device__ __forceinline__ float square_sum_eager_qwen(const HeadValues<head_dim>& x) {
  constexpr int lanes = HeadLanes<head_dim>::kCount;
  float squares[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    squares[i] = __fmul_rn(x[0][i], x[0][i]);
#pragma unroll
    for (int c = 1; c < HeadLanes<head_dim>::kChunks; ++c)
      squares[i] = __fadd_rn(squares[i], __fmul_rn(x[c][i], x[c][i]));
  }
  if constexpr (head_dim == 64) {
    return fold_lanes<lanes>(squares);
  } else {
    float sums[2] = {sum_in_order<4>(squares), sum_in_order<4>(squares + 4)};
    return fold_lanes<lanes>(sums);
  }
}

// head_dim / 32 elements a lane of the oracle, pair by pair.
template <int head_dim>
__device__ __forceinline__ float square_sum_fp32_through(const HeadValues<head_dim>& x) {
  constexpr int pairs = head_dim / 64;
  constexpr int count = 4 / pairs;
  float sums[HeadLanes<head_dim>::kChunks][count];
#pragma unroll
  for (int c = 0; c < HeadLanes<head_dim>::kChunks; ++c) {
    float squares[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float a = x[c][2 * i];
      const float b = x[c][2 * i + 1];
      squares[i] = __fmaf_rn(a, a, __fmul_rn(b, b));
    }
#pragma unroll
    for (int i = 0; i < count; ++i)
      sums[c][i] = sum_in_order<pairs>(squares + i * pairs);
  }
  // The second chunk belongs to the oracle's lanes from 16 on.
  if constexpr (HeadLanes<head_dim>::kChunks == 2) sums[0][0] = __fadd_rn(sums[0][0], sums[1][0]);
  return fold_lanes<HeadLanes<head_dim>::kCount>(sums[0]);
}

// The oracle's lanes are ours.
template <int head_dim>
__device__ __forceinline__ float square_sum_fp32_rope(const HeadValues<head_dim>& x) {
  static_assert(head_dim == 128);
  float squares[8];
#pragma unroll
  for (int i = 0; i < 8; ++i)
    squares[i] = __fmul_rn(x[0][i], x[0][i]);
  float sums[1] = {sum_in_order<8>(squares)};
  return fold_lanes<HeadLanes<head_dim>::kCount>(sums);
}

template <Recipe recipe, int head_dim>
__device__ __forceinline__ float square_sum(const HeadValues<head_dim>& x) {
  if constexpr (recipe == Recipe::eager_flux2) return square_sum_eager_flux2<head_dim>(x);
  if constexpr (recipe == Recipe::eager_qwen) return square_sum_eager_qwen<head_dim>(x);
  if constexpr (recipe == Recipe::fp32_through) return square_sum_fp32_through<head_dim>(x);
  if constexpr (recipe == Recipe::fp32_rope) return square_sum_fp32_rope<head_dim>(x);
}

__device__ __forceinline__ float reciprocal_root(float mean_square, float eps) {
  return rsqrtf(__fadd_rn(mean_square, eps));
}

// The number of elements is a power of two: multiplying by its reciprocal divides.
template <Recipe recipe, int head_dim>
__device__ __forceinline__ float head_rstd(const HeadValues<head_dim>& x, float eps) {
  return reciprocal_root(__fmul_rn(square_sum<recipe, head_dim>(x), 1.0f / head_dim), eps);
}

// Of two neighbours. Rounded to T, except by fp32_through.
template <Recipe recipe, typename T>
__device__ __forceinline__ void normalize(Pair<T> x, Pair<T> weight, float rstd, float* n) {
  const float x0 = first(x);
  const float x1 = second(x);
  const float w0 = first(weight);
  const float w1 = second(weight);
  if constexpr (recipe == Recipe::fp32_through) {
    n[0] = __fmul_rn(x0, __fmul_rn(rstd, w0));
    n[1] = __fmul_rn(x1, __fmul_rn(rstd, w1));
  } else {
    const float y0 = __fmul_rn(rstd, x0);
    const float y1 = __fmul_rn(rstd, x1);
    const Pair<T> rounded = recipe == Recipe::eager_qwen
                                ? multiply(round_to<T>(y0, y1), weight)
                                : round_to<T>(__fmul_rn(w0, y0), __fmul_rn(w1, y1));
    n[0] = first(rounded);
    n[1] = second(rounded);
  }
}

constexpr int kTokenThreads = 128;
constexpr int kTokenWarps = kTokenThreads / 32;

// Of all heads of a token, by the block's 128 threads in the order of PyTorch's RMSNorm: thread t
// takes the groups of four t, t + 128, t + 256, …; then a fold within each warp, then one over the
// warps. One barrier; `shared` may be used again after another one.
template <bool has_bias, int vector, typename T>
__device__ __forceinline__ float token_rstd(const T* row,
                                            const T* bias,
                                            int count,
                                            float eps,
                                            float (&shared)[kTokenWarps]) {
  constexpr int width = vector < 4 ? vector : 4;
  float sums[1] = {0.0f};
  for (int i = 4 * static_cast<int>(threadIdx.x); i < count; i += 4 * kTokenThreads) {
    Pair<T> x[2];
    load<width>(row + i, x);
    if constexpr (has_bias) {
      Pair<T> b[2];
      load<width>(bias + i, b);
      x[0] = add(x[0], b[0]);
      x[1] = add(x[1], b[1]);
    }
    const float values[4] = {first(x[0]), second(x[0]), first(x[1]), second(x[1])};
    sums[0] = fused_squares(values, sums[0]);
  }
  const float warp_sum = fold_lanes<32>(sums);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = warp_sum;
  __syncthreads();
  const float sum = __fadd_rn(__fadd_rn(shared[0], shared[2]), __fadd_rn(shared[1], shared[3]));
  return reciprocal_root(__fdiv_rn(sum, static_cast<float>(count)), eps);
}

}  // namespace kiln::qkv
