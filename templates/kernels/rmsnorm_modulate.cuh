// SPDX-License-Identifier: Apache-2.0

// Z-Image's RMSNorm and modulation of rows, alone or behind a gated residual, then optional FP8
// quantization. With b() for rounding to the activation type, n(x, w) = b(b(x * rstd(x)) * w):
//   m = b(n(x, weight) * b(1 + scale))
//   r = b(residual + b(b(tanh(gate)) * n(update, update_weight)))
// A warp has a row; warps loop over the rows of a batch.

#include "kiln/access.cuh"
#include "kiln/modulation.cuh"
#include "kiln/ptx.cuh"
#include "kiln/row_output.cuh"
#include "kiln/row_slice.cuh"
#include "kiln/types.cuh"

namespace kiln {

// In groups of four, so that a lane has what goes into four neighbouring ones of the 128 sums.
template <int hidden, typename T>
using WarpSlice = RowSlice<hidden, 32, T>;

// 1 / sqrt(mean of squares + eps) in the order of PyTorch's eager mean over a row: element i is
// added to sum i % 128, one after another; each four neighbouring sums are added up, then folded.
// All lanes get it.
template <int hidden, typename T>
__device__ __forceinline__ float reciprocal_root_mean_square(const WarpSlice<hidden, T>& slice,
                                                             float eps) {
  float sums[4] = {};
#pragma unroll
  for (int i = 0; i < slice.kGroups; ++i) {
    if (!slice.has_group(i)) break;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const Pair<T> pair = slice.group[i][j / 2];
      const float x = j % 2 == 0 ? first(pair) : second(pair);
      sums[j] = __fadd_rn(sums[j], __fmul_rn(x, x));
    }
  }
  float total = __fadd_rn(__fadd_rn(__fadd_rn(sums[0], sums[1]), sums[2]), sums[3]);
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    total = __fadd_rn(total, __shfl_xor_sync(0xFFFFFFFFu, total, offset));
  return rsqrtf(__fadd_rn(__fmul_rn(total, 1.0f / hidden), eps));
}

template <typename T>
__device__ __forceinline__ Pair<T> normalize(Pair<T> x, float rstd, Pair<T> weight) {
  return multiply(round_to<T>(__fmul_rn(first(x), rstd), __fmul_rn(second(x), rstd)), weight);
}

// b(tanh(gate)), once for all rows of a block.
template <int hidden, int vector, int threads, typename T>
__device__ __forceinline__ void squash_gate(const T* gate, Pair<T> (&squashed)[hidden / 2]) {
  for (int column = 4 * static_cast<int>(threadIdx.x); column < hidden; column += 4 * threads) {
    Pair<T> g[2];
    load<vector>(gate + column, g);
#pragma unroll
    for (int j = 0; j < 2; ++j)
      squashed[column / 2 + j] = round_to<T>(tanhf(first(g[j])), tanhf(second(g[j])));
  }
}

// The rows of a batch that a warp takes.
template <int threads>
struct WarpRows {
  unsigned first;
  unsigned step;
  unsigned end;

  __device__ __forceinline__ explicit WarpRows(unsigned rows)
      : first(blockIdx.x * (threads / 32) + threadIdx.x / 32),
        step(gridDim.x * (threads / 32)),
        end(rows) {}
  __device__ __forceinline__ bool is_last(unsigned row, unsigned batch, unsigned batches) const {
    return row + step >= end && batch + gridDim.y >= batches;
  }
};

// `preload`: groups loaded ahead.
template <int hidden, typename T, int vector, int preload>
using WeightsAhead =
    GroupsAhead<WarpSlice<hidden, T>, Modulation<T, Recipe::aten>, preload, vector>;

template <int hidden, typename T, Out out, Reciprocal reciprocal, int vector, int preload>
__device__ __forceinline__ void write_normalized(WarpSlice<hidden, T>& slice,
                                                 float eps,
                                                 const T* weight,
                                                 const T* scale,
                                                 const RowOutput<T>& output,
                                                 RowIndex index) {
  using Slice = WarpSlice<hidden, T>;
  WeightsAhead<hidden, T, vector, preload> weights;
  WeightsAhead<hidden, T, vector, preload> scales;
  weights.start(weight);
  scales.start(scale);
  const long long row_offset = output.stride.offset(index);
  const float rstd = reciprocal_root_mean_square<hidden>(slice, eps);
  slice.forget_conversions();
#pragma unroll
  for (int i = 0; i < Slice::kGroups; ++i) {
    if (!Slice::has_group(i)) break;
    const auto w = weights.next(i);
    const auto factor = factor_of(scales.next(i));
    Pair<T> m[2];
#pragma unroll
    for (int j = 0; j < 2; ++j)
      m[j] = multiply(normalize(slice.group[i][j], rstd, w.value[j]), factor.value[j]);
    output.template store<out, reciprocal, vector>(row_offset + Slice::begin(), Slice::offset(i),
                                                   m);
  }
}

template <int hidden,
          typename T,
          Out out,
          Reciprocal reciprocal,
          bool has_bias,
          int vector,
          int threads,
          int min_blocks,
          int preload>
__global__ void __launch_bounds__(threads, min_blocks) rmsnorm_modulate(const T* x,
                                                                        const T* weight,
                                                                        const T* scale,
                                                                        const T* bias,
                                                                        const float* input_scale,
                                                                        T* out_activation,
                                                                        Fp8* out_e4m3,
                                                                        Fp8* out_e5m2,
                                                                        int batches,
                                                                        int rows,
                                                                        long long x_row_stride,
                                                                        long long x_batch_stride,
                                                                        long long scale_stride,
                                                                        long long out_row_stride,
                                                                        long long out_batch_stride,
                                                                        float eps) {
  wait_for_earlier_kernels();
  RowOutput<T> output = {out_activation, out_e4m3, out_e5m2, {out_row_stride, out_batch_stride}};
  output.template read_scale<out, reciprocal>(input_scale);
  const RowStride x_stride = {x_row_stride, x_batch_stride};

  const WarpRows<threads> warp(rows);
  for (unsigned batch = blockIdx.y; batch < batches; batch += gridDim.y) {
    for (unsigned row = warp.first; row < rows; row += warp.step) {
      if (warp.is_last(row, batch, batches)) let_next_kernel_start();
      const RowIndex index = {batch, row};
      WarpSlice<hidden, T> slice;
      slice.template load<vector>(x + x_stride.offset(index));
      if constexpr (has_bias) slice.template add<vector>(bias);
      write_normalized<hidden, T, out, reciprocal, vector, preload>(
          slice, eps, weight, scale + batch * scale_stride, output, index);
    }
  }
}

template <int hidden,
          typename T,
          Out out,
          Reciprocal reciprocal,
          bool has_bias,
          bool clip,
          int vector,
          int threads,
          int min_blocks,
          int preload>
__global__ void __launch_bounds__(threads, min_blocks)
    gated_residual_rmsnorm_modulate(const T* residual,
                                    const T* update,
                                    const T* gate,
                                    const T* update_weight,
                                    const T* weight,
                                    const T* scale,
                                    const T* bias,
                                    const float* input_scale,
                                    T* out_residual,
                                    T* out_activation,
                                    Fp8* out_e4m3,
                                    Fp8* out_e5m2,
                                    int batches,
                                    int rows,
                                    long long residual_row_stride,
                                    long long residual_batch_stride,
                                    long long update_row_stride,
                                    long long update_batch_stride,
                                    long long gate_stride,
                                    long long scale_stride,
                                    long long out_residual_row_stride,
                                    long long out_residual_batch_stride,
                                    long long out_row_stride,
                                    long long out_batch_stride,
                                    float eps) {
  using Slice = WarpSlice<hidden, T>;
  __shared__ Pair<T> squashed_gate[hidden / 2];
  wait_for_earlier_kernels();
  RowOutput<T> output = {out_activation, out_e4m3, out_e5m2, {out_row_stride, out_batch_stride}};
  output.template read_scale<out, reciprocal>(input_scale);
  const RowStride residual_stride = {residual_row_stride, residual_batch_stride};
  const RowStride update_stride = {update_row_stride, update_batch_stride};
  const RowStride sum_stride = {out_residual_row_stride, out_residual_batch_stride};

  const WarpRows<threads> warp(rows);
  for (unsigned batch = blockIdx.y; batch < batches; batch += gridDim.y) {
    __syncthreads();
    squash_gate<hidden, vector, threads>(gate + batch * gate_stride, squashed_gate);
    __syncthreads();
    for (unsigned row = warp.first; row < rows; row += warp.step) {
      if (warp.is_last(row, batch, batches)) let_next_kernel_start();
      const RowIndex index = {batch, row};
      Slice sum;
      Slice added;
      added.template load<vector>(update + update_stride.offset(index));
      sum.template load<vector>(residual + residual_stride.offset(index));
      if constexpr (has_bias) added.template add<vector>(bias);
      WeightsAhead<hidden, T, vector, preload> update_weights;
      update_weights.start(update_weight);
      const float update_rstd = reciprocal_root_mean_square<hidden>(added, eps);
      added.forget_conversions();

      T* row_sum = out_residual + sum_stride.offset(index);
#pragma unroll
      for (int i = 0; i < Slice::kGroups; ++i) {
        if (!Slice::has_group(i)) break;
        const Pair<T>* g = squashed_gate + (Slice::begin() + Slice::offset(i)) / 2;
        const auto w = update_weights.next(i);
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const Pair<T> n = normalize(added.group[i][j], update_rstd, w.value[j]);
          const Pair<T> gated = multiply(g[j], n);
          sum.group[i][j] = add(sum.group[i][j], gated);
          if constexpr (clip) sum.group[i][j] = limit_to_finite(sum.group[i][j]);
        }
        if constexpr (contains(out, Out::residual))
          store<vector>(Slice::at(row_sum, i), sum.group[i]);
      }
      if constexpr (contains(out, kActivation | kFp8)) {
        write_normalized<hidden, T, out, reciprocal, vector, preload>(
            sum, eps, weight, scale + batch * scale_stride, output, index);
      }
    }
  }
}

}  // namespace kiln
