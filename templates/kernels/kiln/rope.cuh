// SPDX-License-Identifier: Apache-2.0
#pragma once

// Rotary position embedding of a head that lanes of a warp share.

#include "kiln/access.cuh"
#include "kiln/qkv_types.cuh"
#include "kiln/rms_norm.cuh"

namespace kiln::qkv {

// Rotates the point (n0, n1); afterwards it is rounded to the activation type.
template <Recipe recipe>
__device__ __forceinline__ void rotate(float& n0, float& n1, float cosine, float sine) {
  const float a = n0;
  const float b = n1;
  if constexpr (recipe == Recipe::eager_flux2) {
    n0 = __fsub_rn(__fmul_rn(a, cosine), __fmul_rn(b, sine));
    n1 = __fadd_rn(__fmul_rn(b, cosine), __fmul_rn(a, sine));
  } else if constexpr (recipe == Recipe::eager_qwen) {
    n0 = __fmaf_rn(a, cosine, -__fmul_rn(b, sine));
    n1 = __fmaf_rn(a, sine, __fmul_rn(b, cosine));
  } else if constexpr (recipe == Recipe::fp32_through) {
    n0 = __fmaf_rn(a, cosine, -__fmul_rn(b, sine));
    n1 = __fmaf_rn(b, cosine, __fmul_rn(a, sine));
  } else {
    n0 = __fmaf_rn(-b, sine, __fmul_rn(a, cosine));
    n1 = __fmaf_rn(a, sine, __fmul_rn(b, cosine));
  }
}

// The cosines and sines that a lane needs of a token's row [head_dim / 2].
template <Rope rope, int head_dim>
struct Angles;

template <int head_dim>
struct Angles<Rope::interleaved, head_dim> {
  using Lanes = HeadLanes<head_dim>;
  float cosine[Lanes::kChunks][4];
  float sine[Lanes::kChunks][4];

  template <int vector>
  __device__ __forceinline__ void load(const float* cos, const float* sin) {
#pragma unroll
    for (int c = 0; c < Lanes::kChunks; ++c) {
      const int column = c * Lanes::kChunk / 2 + 4 * Lanes::lane();
      kiln::load<vector>(cos + column, cosine[c]);
      kiln::load<vector>(sin + column, sine[c]);
    }
  }

  template <Recipe recipe>
  __device__ __forceinline__ void rotate_head(HeadValues<head_dim>& n) const {
#pragma unroll
    for (int c = 0; c < Lanes::kChunks; ++c) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        rotate<recipe>(n[c][2 * i], n[c][2 * i + 1], cosine[c][i], sine[c][i]);
    }
  }
};

template <int head_dim>
struct Angles<Rope::half_split, head_dim> {
  using Lanes = HeadLanes<head_dim>;
  float cosine[8];
  float sine[8];

  template <int vector>
  __device__ __forceinline__ void load(const float* cos, const float* sin) {
    const int column = 8 * (Lanes::lane() % (head_dim / 16));
    kiln::load<vector>(cos + column, cosine);
    kiln::load<vector>(sin + column, sine);
  }

  // With two chunks a lane has both elements of a pair, else another lane has the second one. All
  // lanes of the warp must call.
  template <Recipe recipe>
  __device__ __forceinline__ void rotate_head(HeadValues<head_dim>& n) const {
    const bool is_second = Lanes::lane() >= Lanes::kCount / 2;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if constexpr (Lanes::kChunks == 2) {
        rotate<recipe>(n[0][i], n[1][i], cosine[i], sine[i]);
      } else {
        const float own = n[0][i];
        const float other = __shfl_xor_sync(0xFFFFFFFFu, own, Lanes::kCount / 2);
        float n0 = is_second ? other : own;
        float n1 = is_second ? own : other;
        rotate<recipe>(n0, n1, cosine[i], sine[i]);
        n[0][i] = is_second ? n1 : n0;
      }
    }
  }
};

}  // namespace kiln::qkv
