// SPDX-License-Identifier: Apache-2.0

// Z-Image's RMSNorm and modulation of rows, alone or behind a gated residual, then optional FP8
// quantization. With b() for rounding to the activation type, n(x, w) = b(b(x * rstd(x)) * w):
//   m = b(n(x, weight) * b(1 + scale))
//   r = b(residual + b(b(tanh(gate)) * n(update, update_weight)))
// One row at a time and block; blocks loop over rows.

#include "kiln/access.cuh"
#include "kiln/ptx.cuh"
#include "kiln/row_output.cuh"
#include "kiln/row_statistics.cuh"
#include "kiln/types.cuh"

namespace kiln {

template <int hidden, typename T>
struct RowMemory {
  Pair<T> row[hidden / 2];
  float sums[kRowThreads];
};

// 1 / sqrt(mean of squares + eps) in the order of PyTorch's eager mean over a row: element i is
// added to sum i % 128, one after another; each four neighbouring sums are added up, then folded.
// All threads get it. Two barriers, which also separate one call from the next.
template <int hidden, typename T>
__device__ __forceinline__ float reciprocal_root_mean_square(const RowSlice<hidden, T>& slice,
                                                             float eps,
                                                             RowMemory<hidden, T>& memory) {
  using Slice = RowSlice<hidden, T>;
#pragma unroll
  for (int i = 0; i < Slice::kGroups; ++i) {
    if (!Slice::has_group(i)) break;
    memory.row[Slice::first_element(i) / 2] = slice.group[i][0];
    memory.row[Slice::first_element(i) / 2 + 1] = slice.group[i][1];
  }
  __syncthreads();

  float sum = 0.0f;
  const int thread = threadIdx.x;
  for (int i = thread; i < hidden; i += kRowThreads) {
    const Pair<T> pair = memory.row[i / 2];
    const float x = i % 2 == 0 ? first(pair) : second(pair);
    sum = __fadd_rn(sum, __fmul_rn(x, x));
  }
  memory.sums[thread] = sum;
  __syncthreads();

  const float* sums = memory.sums + 4 * (thread % 32);
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

// b(tanh(x))
template <typename T>
__device__ __forceinline__ Pair<T> squash(Pair<T> x) {
  return round_to<T>(tanhf(first(x)), tanhf(second(x)));
}

template <int hidden, typename T, Out out, Reciprocal reciprocal, int vector>
__device__ __forceinline__ void write_normalized(const RowSlice<hidden, T>& slice,
                                                 float rstd,
                                                 const T* weight,
                                                 const T* scale,
                                                 const RowOutput<T>& output,
                                                 RowIndex index) {
  using Slice = RowSlice<hidden, T>;
  const long long row_offset = output.stride.offset(index);
#pragma unroll
  for (int i = 0; i < Slice::kGroups; ++i) {
    if (!Slice::has_group(i)) break;
    const int column = Slice::first_element(i);
    Pair<T> w[2];
    Pair<T> s[2];
    load<vector>(weight + column, w);
    load<vector>(scale + column, s);
    Pair<T> m[2];
#pragma unroll
    for (int j = 0; j < 2; ++j)
      m[j] = multiply(normalize(slice.group[i][j], rstd, w[j]), add(ones<T>(), s[j]));
    output.template store<out, reciprocal, vector>(row_offset, column, m);
  }
}

template <int hidden,
          typename T,
          Out out,
          Reciprocal reciprocal,
          bool has_bias,
          int vector,
          int threads,
          int min_blocks>
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
  static_assert(threads == kRowThreads);
  __shared__ RowMemory<hidden, T> memory;
  wait_for_earlier_kernels();
  RowOutput<T> output = {out_activation, out_e4m3, out_e5m2, {out_row_stride, out_batch_stride}};
  output.template read_scale<out, reciprocal>(input_scale);
  const RowStride x_stride = {x_row_stride, x_batch_stride};

  const unsigned all_rows = static_cast<unsigned>(batches) * rows;
  for (unsigned row = blockIdx.x; row < all_rows; row += gridDim.x) {
    if (row + gridDim.x >= all_rows) let_next_kernel_start();
    const RowIndex index(row, rows);
    RowSlice<hidden, T> slice;
    slice.template load<vector>(x + x_stride.offset(index));
    if constexpr (has_bias) slice.template add<vector>(bias);
    const float rstd = reciprocal_root_mean_square(slice, eps, memory);
    write_normalized<hidden, T, out, reciprocal, vector>(
        slice, rstd, weight, scale + index.batch * scale_stride, output, index);
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
          int min_blocks>
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
  static_assert(threads == kRowThreads);
  using Slice = RowSlice<hidden, T>;
  __shared__ RowMemory<hidden, T> memory;
  wait_for_earlier_kernels();
  RowOutput<T> output = {out_activation, out_e4m3, out_e5m2, {out_row_stride, out_batch_stride}};
  output.template read_scale<out, reciprocal>(input_scale);
  const RowStride residual_stride = {residual_row_stride, residual_batch_stride};
  const RowStride update_stride = {update_row_stride, update_batch_stride};
  const RowStride sum_stride = {out_residual_row_stride, out_residual_batch_stride};

  const unsigned all_rows = static_cast<unsigned>(batches) * rows;
  for (unsigned row = blockIdx.x; row < all_rows; row += gridDim.x) {
    if (row + gridDim.x >= all_rows) let_next_kernel_start();
    const RowIndex index(row, rows);
    Slice sum;
    Slice added;
    added.template load<vector>(update + update_stride.offset(index));
    sum.template load<vector>(residual + residual_stride.offset(index));
    if constexpr (has_bias) added.template add<vector>(bias);
    const float update_rstd = reciprocal_root_mean_square(added, eps, memory);

    const T* row_gate = gate + index.batch * gate_stride;
    T* row_sum = out_residual + sum_stride.offset(index);
#pragma unroll
    for (int i = 0; i < Slice::kGroups; ++i) {
      if (!Slice::has_group(i)) break;
      const int column = Slice::first_element(i);
      Pair<T> g[2];
      Pair<T> w[2];
      load<vector>(row_gate + column, g);
      load<vector>(update_weight + column, w);
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const Pair<T> n = normalize(added.group[i][j], update_rstd, w[j]);
        sum.group[i][j] = add(sum.group[i][j], multiply(squash(g[j]), n));
        if constexpr (clip) sum.group[i][j] = limit_to_finite(sum.group[i][j]);
      }
      if constexpr (contains(out, Out::residual)) store<vector>(row_sum + column, sum.group[i]);
    }
    if constexpr (contains(out, kActivation | kFp8)) {
      const float rstd = reciprocal_root_mean_square(sum, eps, memory);
      write_normalized<hidden, T, out, reciprocal, vector>(
          sum, rstd, weight, scale + index.batch * scale_stride, output, index);
    }
  }
}

}  // namespace kiln
