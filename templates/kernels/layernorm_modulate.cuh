// SPDX-License-Identifier: Apache-2.0

// LayerNorm without affine, then modulation, then optional FP8 quantization, with b() for rounding
// to bf16:
//   y = b(rstd * (x - mean))   m = b(b(y * b(1 + scale)) + shift)   q = fp8(m / input_scale)
// One row at a time and block; blocks loop over rows. A row stays in registers from its one read to
// its one write.

#include "kiln/access.cuh"
#include "kiln/ptx.cuh"
#include "kiln/quantize.cuh"
#include "kiln/row_statistics.cuh"
#include "kiln/types.cuh"

namespace kiln {

__device__ __forceinline__ Bf16Pair normalize(Bf16Pair x, float mean, float rstd) {
  return round_to_bf16(__fmul_rn(rstd, __fsub_rn(first(x), mean)),
                       __fmul_rn(rstd, __fsub_rn(second(x), mean)));
}

__device__ __forceinline__ Bf16Pair modulate(Bf16Pair y, Bf16Pair scale, Bf16Pair shift) {
  constexpr Bf16Pair ones = {0x3F803F80u};
  return add(multiply(y, add(ones, scale)), shift);
}

// Scale and shift of `groups` neighbouring groups of a thread.
template <int hidden, int groups>
struct ModulationSlice {
  Bf16Pair scale[groups][2];
  Bf16Pair shift[groups][2];

  template <int vector>
  __device__ __forceinline__ void load(const Bf16* row_scale, const Bf16* row_shift, int begin) {
#pragma unroll
    for (int i = 0; i < groups; ++i) {
      if (begin + i >= RowSlice<hidden>::kGroups || !RowSlice<hidden>::has_group(begin + i)) break;
      const int column = RowSlice<hidden>::first_element(begin + i);
      kiln::load<vector>(row_scale + column, scale[i]);
      kiln::load<vector>(row_shift + column, shift[i]);
    }
  }
};

// `prefetch`: whether the next row is loaded before this one is folded. `preload`: groups whose
// scale and shift are loaded ahead of their use. Both hide latency and cost registers.
template <int hidden,
          Out out,
          Recipe recipe,
          Reciprocal reciprocal,
          int vector,
          int min_blocks,
          int prefetch,
          int preload>
__global__ void __launch_bounds__(kRowThreads, min_blocks)
    layernorm_modulate(const Bf16* x,
                       const Bf16* scale,
                       const Bf16* shift,
                       const float* input_scale,
                       Bf16* out_bf16,
                       Fp8* out_e4m3,
                       Fp8* out_e5m2,
                       int rows,
                       int rows_per_batch,
                       long long x_row_stride,
                       long long x_batch_stride,
                       long long scale_stride,
                       long long shift_stride,
                       long long out_row_stride,
                       long long out_batch_stride,
                       float eps) {
  static_assert(recipe == Recipe::aten);
  using Slice = RowSlice<hidden>;
  constexpr int groups_ahead = preload < Slice::kGroups ? preload : Slice::kGroups;
  using Modulation = ModulationSlice<hidden, groups_ahead>;
  __shared__ Moments shared[2][kRowWarps];

  wait_for_earlier_kernels();
  float inverse = 0.0f;
  if constexpr (out != Out::bf16) inverse = inverse_of<reciprocal>(*input_scale);

  const auto load_row = [&](Slice& slice, unsigned row) {
    slice.template load<vector>(x + row_offset(row, rows_per_batch, x_row_stride, x_batch_stride));
  };
  Slice slice;
  Slice next_slice;
  if constexpr (prefetch != 0) {
    if (blockIdx.x < rows) load_row(next_slice, blockIdx.x);
  }
  int parity = 0;
  for (unsigned row = blockIdx.x; row < rows; row += gridDim.x) {
    const bool is_last = row + gridDim.x >= rows;
    if (is_last) let_next_kernel_start();
    if constexpr (prefetch != 0) {
      slice = next_slice;
      if (!is_last) load_row(next_slice, row + gridDim.x);
    } else {
      load_row(slice, row);
    }
    const unsigned batch = row / rows_per_batch;
    const Bf16* row_scale = scale + batch * scale_stride;
    const Bf16* row_shift = shift + batch * shift_stride;
    Modulation modulation;
    Modulation next_modulation;
    next_modulation.template load<vector>(row_scale, row_shift, 0);

    const Moments moments = row_moments(slice, shared[parity]);
    parity ^= 1;
    const float rstd = reciprocal_deviation(moments, hidden, eps);

    const long long out_row = row_offset(row, rows_per_batch, out_row_stride, out_batch_stride);
#pragma unroll
    for (int i = 0; i < Slice::kGroups; ++i) {
      if (!Slice::has_group(i)) break;
      const int ahead = i % groups_ahead;
      if (ahead == 0) {
        modulation = next_modulation;
        next_modulation.template load<vector>(row_scale, row_shift, i + groups_ahead);
      }
      Bf16Pair m[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const Bf16Pair y = normalize(slice.group[i][j], moments.mean, rstd);
        m[j] = modulate(y, modulation.scale[ahead][j], modulation.shift[ahead][j]);
      }

      const long long element = out_row + Slice::first_element(i);
      if constexpr (contains(out, Out::bf16)) store<vector>(out_bf16 + element, m);
      Fp8Pair q[2];
      if constexpr (contains(out, Out::e4m3)) {
        quantize<Out::e4m3, reciprocal>(m, inverse, q);
        store<vector>(out_e4m3 + element, q);
      }
      if constexpr (contains(out, Out::e5m2)) {
        quantize<Out::e5m2, reciprocal>(m, inverse, q);
        store<vector>(out_e5m2 + element, q);
      }
    }
  }
}

}  // namespace kiln
