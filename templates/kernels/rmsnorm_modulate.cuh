// SPDX-License-Identifier: Apache-2.0

// Z-Image's RMSNorm and modulation of rows, alone or behind a gated residual, then optional FP8
// quantization. With b() for rounding to the activation type, n(x, w) = b(b(x * rstd(x)) * w):
//   m = b(n(x, weight) * b(1 + scale))
//   r = b(residual + b(b(tanh(gate)) * n(update, update_weight)))
// A warp has a row, which stays in shared memory from pass to pass; warps loop over the rows of a
// batch.

#include "kiln/access.cuh"
#include "kiln/ptx.cuh"
#include "kiln/row_output.cuh"
#include "kiln/types.cuh"

namespace kiln {

// Without asking the driver for more.
constexpr unsigned kMostSharedBytes = 48 * 1024;

// A lane has groups of four neighbours, each 128 elements behind the one before it.
template <int hidden>
struct LaneGroups {
  static constexpr int kCount = (hidden + 127) / 128;

  static __device__ __forceinline__ int column(int i) { return 128 * i + 4 * (threadIdx.x % 32); }
  static __device__ __forceinline__ bool has(int i) {
    return (hidden % 128 == 0 && i < kCount) || column(i) < hidden;
  }
};

// `count` groups of a row, all on their way at once.
template <int hidden, int vector, int count, typename T>
struct Batch {
  Pair<T> group[count][2];

  __device__ __forceinline__ void load(const T* row, int begin) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int column = LaneGroups<hidden>::column(begin + i);
      if (begin + i < LaneGroups<hidden>::kCount && LaneGroups<hidden>::has(begin + i))
        kiln::load<vector>(row + column, group[i]);
    }
  }
};

// The sum of squares in the order of PyTorch's eager mean over a row: element i is added to sum
// i % 128, one after another; each four neighbouring sums are added up, then folded.
struct SquareSums {
  float sums[4] = {};

  template <typename T>
  __device__ __forceinline__ void add(const Pair<T> (&group)[2]) {
    const float values[4] = {first(group[0]), second(group[0]), first(group[1]), second(group[1])};
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sums[i] = __fadd_rn(sums[i], __fmul_rn(values[i], values[i]));
  }
  // 1 / sqrt(mean + eps), for all lanes.
  __device__ __forceinline__ float reciprocal_root_mean(int hidden, float eps) const {
    float total = __fadd_rn(__fadd_rn(__fadd_rn(sums[0], sums[1]), sums[2]), sums[3]);
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
      total = __fadd_rn(total, __shfl_xor_sync(0xFFFFFFFFu, total, offset));
    return rsqrtf(__fadd_rn(__fmul_rn(total, 1.0f / hidden), eps));
  }
};

template <typename T>
__device__ __forceinline__ Pair<T> normalize(Pair<T> x, float rstd, Pair<T> weight) {
  return multiply(round_to<T>(__fmul_rn(first(x), rstd), __fmul_rn(second(x), rstd)), weight);
}

// b(tanh(gate))
template <typename T>
__device__ __forceinline__ Pair<T> squash(Pair<T> gate) {
  return round_to<T>(tanhf(first(gate)), tanhf(second(gate)));
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
  __device__ __forceinline__ bool is_last(unsigned row, unsigned item, unsigned items) const {
    return row + step >= end && item + gridDim.y >= items;
  }
};

// Brings a row into the lane's part of `memory`, and returns its reciprocal root mean square.
template <int hidden, bool has_bias, int vector, int batch, typename T>
__device__ __forceinline__ float read_row(const T* row,
                                          const T* bias,
                                          float eps,
                                          Pair<T> (&memory)[hidden / 2]) {
  using Groups = LaneGroups<hidden>;
  SquareSums squares;
  for (int begin = 0; begin < Groups::kCount; begin += batch) {
    Batch<hidden, vector, batch, T> x;
    Batch<hidden, vector, batch, T> b;
    x.load(row, begin);
    if constexpr (has_bias) b.load(bias, begin);
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      if (begin + i >= Groups::kCount || !Groups::has(begin + i)) break;
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        if constexpr (has_bias) x.group[i][j] = add(x.group[i][j], b.group[i][j]);
        memory[Groups::column(begin + i) / 2 + j] = x.group[i][j];
      }
      squares.add(x.group[i]);
    }
  }
  return squares.reciprocal_root_mean(hidden, eps);
}

template <int hidden, Out out, Reciprocal reciprocal, int vector, int batch, typename T>
__device__ __forceinline__ void write_normalized(const Pair<T> (&memory)[hidden / 2],
                                                 float rstd,
                                                 const T* weight,
                                                 const T* scale,
                                                 const RowOutput<T>& output,
                                                 RowIndex index) {
  using Groups = LaneGroups<hidden>;
  const long long row_offset = output.stride.offset(index);
  for (int begin = 0; begin < Groups::kCount; begin += batch) {
    Batch<hidden, vector, batch, T> w;
    Batch<hidden, vector, batch, T> s;
    w.load(weight, begin);
    s.load(scale, begin);
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      if (begin + i >= Groups::kCount || !Groups::has(begin + i)) break;
      const int column = Groups::column(begin + i);
      Pair<T> m[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        m[j] = multiply(normalize(memory[column / 2 + j], rstd, w.group[i][j]),
                        add(ones<T>(), s.group[i][j]));
      }
      output.template store<out, reciprocal, vector>(row_offset + column, 0, m);
    }
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
          int batch>
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
  __shared__ Pair<T> memory[threads / 32][hidden / 2];
  wait_for_earlier_kernels();
  RowOutput<T> output = {out_activation, out_e4m3, out_e5m2, {out_row_stride, out_batch_stride}};
  output.template read_scale<out, reciprocal>(input_scale);
  const RowStride x_stride = {x_row_stride, x_batch_stride};

  const WarpRows<threads> warp(rows);
  for (unsigned item = blockIdx.y; item < batches; item += gridDim.y) {
    for (unsigned row = warp.first; row < rows; row += warp.step) {
      if (warp.is_last(row, item, batches)) let_next_kernel_start();
      const RowIndex index = {item, row};
      Pair<T>(&row_memory)[hidden / 2] = memory[threadIdx.x / 32];
      const float rstd = read_row<hidden, has_bias, vector, batch>(x + x_stride.offset(index), bias,
                                                                   eps, row_memory);
      write_normalized<hidden, out, reciprocal, vector, batch>(
          row_memory, rstd, weight, scale + item * scale_stride, output, index);
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
          int batch>
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
  using Groups = LaneGroups<hidden>;
  // Once for all rows of an item, where shared memory has room for it.
  constexpr bool keeps_gate = (threads / 32 + 1) * hidden * sizeof(T) <= kMostSharedBytes;
  __shared__ Pair<T> squashed_gate[keeps_gate ? hidden / 2 : 1];
  __shared__ Pair<T> memory[threads / 32][hidden / 2];
  wait_for_earlier_kernels();
  RowOutput<T> output = {out_activation, out_e4m3, out_e5m2, {out_row_stride, out_batch_stride}};
  output.template read_scale<out, reciprocal>(input_scale);
  const RowStride residual_stride = {residual_row_stride, residual_batch_stride};
  const RowStride update_stride = {update_row_stride, update_batch_stride};
  const RowStride sum_stride = {out_residual_row_stride, out_residual_batch_stride};

  const WarpRows<threads> warp(rows);
  for (unsigned item = blockIdx.y; item < batches; item += gridDim.y) {
    const T* item_gate = gate + item * gate_stride;
    if constexpr (keeps_gate) {
      __syncthreads();
      for (int column = 4 * static_cast<int>(threadIdx.x); column < hidden; column += 4 * threads) {
        Pair<T> g[2];
        load<vector>(item_gate + column, g);
        squashed_gate[column / 2] = squash(g[0]);
        squashed_gate[column / 2 + 1] = squash(g[1]);
      }
      __syncthreads();
    }
    for (unsigned row = warp.first; row < rows; row += warp.step) {
      if (warp.is_last(row, item, batches)) let_next_kernel_start();
      const RowIndex index = {item, row};
      Pair<T>(&row_memory)[hidden / 2] = memory[threadIdx.x / 32];
      const float update_rstd = read_row<hidden, has_bias, vector, batch>(
          update + update_stride.offset(index), bias, eps, row_memory);

      SquareSums squares;
      const T* row_residual = residual + residual_stride.offset(index);
      T* row_sum = out_residual + sum_stride.offset(index);
      for (int begin = 0; begin < Groups::kCount; begin += batch) {
        Batch<hidden, vector, batch, T> sum;
        Batch<hidden, vector, batch, T> w;
        Batch<hidden, vector, batch, T> g;
        sum.load(row_residual, begin);
        w.load(update_weight, begin);
        if constexpr (!keeps_gate) g.load(item_gate, begin);
#pragma unroll
        for (int i = 0; i < batch; ++i) {
          if (begin + i >= Groups::kCount || !Groups::has(begin + i)) break;
          const int column = Groups::column(begin + i);
#pragma unroll
          for (int j = 0; j < 2; ++j) {
            Pair<T>& pair = row_memory[column / 2 + j];
            Pair<T> squashed;
            if constexpr (keeps_gate) {
              squashed = squashed_gate[column / 2 + j];
            } else {
              squashed = squash(g.group[i][j]);
            }
            const Pair<T> n = normalize(pair, update_rstd, w.group[i][j]);
            sum.group[i][j] = add(sum.group[i][j], multiply(squashed, n));
            if constexpr (clip) sum.group[i][j] = limit_to_finite(sum.group[i][j]);
            pair = sum.group[i][j];
          }
          squares.add(sum.group[i]);
          if constexpr (contains(out, Out::residual)) store<vector>(row_sum + column, sum.group[i]);
        }
      }
      if constexpr (contains(out, kActivation | kFp8)) {
        write_normalized<hidden, out, reciprocal, vector, batch>(
            row_memory, squares.reciprocal_root_mean(hidden, eps), weight,
            scale + item * scale_stride, output, index);
      }
    }
  }
}

}  // namespace kiln
