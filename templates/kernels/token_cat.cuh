// SPDX-License-Identifier: Apache-2.0

// Rows of attention and MLP columns side by side, as one GEMM's input, with b() for rounding to the
// activations' type T:
//   token_cat            MLP columns: mlp
//   swiglu_token_cat     b(a * up) with a = b(gate / (1 + exp(-gate)))
//   gelu_tanh_token_cat  b(0.5 * x * (1 + tanh(k * (x + c * x^3))))
//   static_quant         mlp alone, in FP8
// written as T, in FP8 and in NVFP4. A block takes columns_per_block columns of a row; the grid's y
// and z loop over rows and batches. A thread's loads for one row are all under way before it uses
// the first.

#include "kiln/access.cuh"
#include "kiln/nvfp4.cuh"
#include "kiln/ptx.cuh"
#include "kiln/quantize.cuh"
#include "kiln/types.cuh"

namespace kiln {

// A thread's group of neighbours is what one access moves: of one element, a pair's first.
template <int vector>
constexpr int kGroupPairs = vector == 1 ? 1 : vector / 2;

template <int vector, typename T, int pairs>
__device__ __forceinline__ void load_group(const T* address, Pair<T> (&group)[pairs]) {
  if constexpr (vector == 1) {
    group[0] = load_one(address);
  } else {
    load<vector>(address, group);
  }
}

template <int vector, typename T, int pairs>
__device__ __forceinline__ void store_group(T* address, const Pair<T> (&group)[pairs]) {
  if constexpr (vector == 1) {
    address->bits = static_cast<unsigned short>(group[0].bits);
  } else {
    store<vector>(address, group);
  }
}

template <int vector, int pairs>
__device__ __forceinline__ void store_group(Fp8* address, const Fp8Pair (&group)[pairs]) {
  if constexpr (vector == 1) {
    store_one(address, group[0]);
  } else {
    store<vector>(address, group);
  }
}

// What follows is where a group comes from: load() brings its inputs, and compute() leaves the
// result in the first of them.

template <typename T>
struct Plain {
  static constexpr int kInputs = 1;
  const T* data;
  RowStride stride;

  template <int vector, int pairs>
  __device__ __forceinline__ void load(const T* row,
                                       long long column,
                                       Pair<T> (&inputs)[kInputs][pairs]) const {
    load_group<vector>(row + column, inputs[0]);
  }
  template <int pairs>
  static __device__ __forceinline__ void compute(Pair<T> (&)[kInputs][pairs]) {}
};

__device__ __forceinline__ float silu(float value) {
  return __fdiv_rn(value, __fadd_rn(1.0f, expf(-value)));
}

// `data`: gate columns, then as many up columns; `bias` likewise.
template <typename T, bool has_bias>
struct SwiGlu {
  static constexpr int kInputs = has_bias ? 4 : 2;
  const T* data;
  RowStride stride;
  const T* bias;
  long long width;

  template <int vector, int pairs>
  __device__ __forceinline__ void load(const T* row,
                                       long long column,
                                       Pair<T> (&inputs)[kInputs][pairs]) const {
    load_group<vector>(row + column, inputs[0]);
    load_group<vector>(row + width + column, inputs[1]);
    if constexpr (has_bias) {
      load_group<vector>(bias + column, inputs[2]);
      load_group<vector>(bias + width + column, inputs[3]);
    }
  }
  template <int pairs>
  static __device__ __forceinline__ void compute(Pair<T> (&inputs)[kInputs][pairs]) {
#pragma unroll
    for (int i = 0; i < pairs; ++i) {
      Pair<T> gate = inputs[0][i];
      Pair<T> up = inputs[1][i];
      if constexpr (has_bias) {
        gate = add(gate, inputs[2][i]);
        up = add(up, inputs[3][i]);
      }
      inputs[0][i] = multiply(round_to<T>(silu(first(gate)), silu(second(gate))), up);
    }
  }
};

// As tanhf() computes it, but for magnitudes below 0.55: there it is some units of fp32 off, which
// no bf16 that gelu_tanh() returns shows (all 65,536 inputs compared).
__device__ __forceinline__ float tanh_by_exponential(float value) {
  constexpr float two_log2_e = 2.885390043258667f;
  const float power = approximate_exp2(__fmul_rn(fabsf(value), two_log2_e));
  const float reciprocal = approximate_reciprocal(__fadd_rn(power, 1.0f));
  return copysignf(__fmaf_rn(reciprocal, -2.0f, 1.0f), value);
}

template <typename T>
__device__ __forceinline__ float gelu_tanh(float value) {
  const float sqrt_2_over_pi = __uint_as_float(0x3F4C422Au);
  const float cubic = __uint_as_float(0x3D372713u);
  const float cube = __fmul_rn(__fmul_rn(value, value), value);
  const float inner = __fmul_rn(sqrt_2_over_pi, __fmaf_rn(cubic, cube, value));
  const float tangent = is_same<T, Bf16> ? tanh_by_exponential(inner) : tanhf(inner);
  return __fmul_rn(__fmul_rn(0.5f, value), __fadd_rn(1.0f, tangent));
}

template <typename T, bool has_bias>
struct GeluTanh {
  static constexpr int kInputs = has_bias ? 2 : 1;
  const T* data;
  RowStride stride;
  const T* bias;

  template <int vector, int pairs>
  __device__ __forceinline__ void load(const T* row,
                                       long long column,
                                       Pair<T> (&inputs)[kInputs][pairs]) const {
    load_group<vector>(row + column, inputs[0]);
    if constexpr (has_bias) load_group<vector>(bias + column, inputs[1]);
  }
  template <int pairs>
  static __device__ __forceinline__ void compute(Pair<T> (&inputs)[kInputs][pairs]) {
#pragma unroll
    for (int i = 0; i < pairs; ++i) {
      Pair<T> x = inputs[0][i];
      if constexpr (has_bias) x = add(x, inputs[1][i]);
      inputs[0][i] = round_to<T>(gelu_tanh<T>(first(x)), gelu_tanh<T>(second(x)));
    }
  }
};

// Those that the set lacks are null.
template <typename T>
struct CatOutput {
  T* activation;
  Fp8* e4m3;
  Fp8* e5m2;
  unsigned char* nvfp4;
  unsigned char* nvfp4_scales;
  RowStride stride;  // of all but the scales, in elements
  const float* input_scale;
  const float* input_global_scale;
};

struct CatShape {
  int batches;
  int rows;  // of a batch
  long long attention_width;
  long long mlp_width;

  __device__ __forceinline__ long long columns() const { return attention_width + mlp_width; }
};

struct CatScales {
  float inverse;
  float global;
};

template <Out out, Reciprocal reciprocal, typename T>
__device__ __forceinline__ CatScales read_scales(const CatOutput<T>& output) {
  CatScales scales = {};
  if constexpr (contains(out, kFp8)) scales.inverse = inverse_of<reciprocal>(*output.input_scale);
  if constexpr (contains(out, Out::nvfp4)) scales.global = *output.input_global_scale;
  return scales;
}

// The group at `element` of the outputs, which is at `column` of the `row`-th row of all.
template <Out out, Reciprocal reciprocal, int vector, typename T, int pairs>
__device__ __forceinline__ void write_group(const CatOutput<T>& output,
                                            const CatScales& scales,
                                            const Pair<T> (&group)[pairs],
                                            long long element,
                                            long long row,
                                            long long column,
                                            long long columns) {
  if constexpr (contains(out, kActivation)) store_group<vector>(output.activation + element, group);
  Fp8Pair q[pairs];
  if constexpr (contains(out, Out::e4m3)) {
    quantize<Out::e4m3, reciprocal>(group, scales.inverse, q);
    store_group<vector>(output.e4m3 + element, q);
  }
  if constexpr (contains(out, Out::e5m2)) {
    quantize<Out::e5m2, reciprocal>(group, scales.inverse, q);
    store_group<vector>(output.e5m2 + element, q);
  }
  if constexpr (contains(out, Out::nvfp4)) {
    const Nvfp4<T, pairs> block = quantize_nvfp4(group, scales.global);
    store<vector>(output.nvfp4 + element / 2, block);
    if (column % kNvfp4Block == 0) {
      const long long offset = nvfp4_scale_offset(row, column / kNvfp4Block, columns);
      output.nvfp4_scales[offset] = block.scale;
    }
  }
}

template <Out out,
          Reciprocal reciprocal,
          bool has_attention,
          int vector,
          int threads,
          int columns_per_block,
          typename T,
          typename Mlp>
__device__ __forceinline__ void concatenate(const Plain<T>& attention,
                                            const Mlp& mlp,
                                            const CatOutput<T>& output,
                                            const CatShape& shape) {
  constexpr int step = threads * vector;
  constexpr int groups = columns_per_block / step;
  static_assert(groups * step == columns_per_block);
  const long long columns = shape.columns();
  const long long begin = static_cast<long long>(blockIdx.x) * columns_per_block +
                          static_cast<int>(threadIdx.x) * vector;

  wait_for_earlier_kernels();
  if constexpr (contains(out, Out::nvfp4)) {
    pad_nvfp4_scales(output.nvfp4_scales, static_cast<long long>(shape.batches) * shape.rows,
                     columns);
  }
  for (unsigned batch = blockIdx.z; batch < shape.batches; batch += gridDim.z) {
    for (unsigned row = blockIdx.y; row < shape.rows; row += gridDim.y) {
      const bool is_last = row + gridDim.y >= shape.rows && batch + gridDim.z >= shape.batches;
      if (is_last) let_next_kernel_start();
      const T* attention_row = attention.data + attention.stride.offset({batch, row});
      const T* mlp_row = mlp.data + mlp.stride.offset({batch, row});

      Pair<T> inputs[groups][Mlp::kInputs][kGroupPairs<vector>];
#pragma unroll
      for (int i = 0; i < groups; ++i) {
        const long long column = begin + i * step;
        if (column >= columns) break;
        if (has_attention && column < shape.attention_width) {
          load_group<vector>(attention_row + column, inputs[i][0]);
        } else {
          mlp.template load<vector>(mlp_row, column - shape.attention_width, inputs[i]);
        }
      }
      // Only now, and again for each row: the wait for them would otherwise hold up the loads.
      const CatScales scales = read_scales<out, reciprocal>(output);
      const long long out_row = output.stride.offset({batch, row});
      const long long index = static_cast<long long>(batch) * shape.rows + row;
#pragma unroll
      for (int i = 0; i < groups; ++i) {
        const long long column = begin + i * step;
        if (column >= columns) break;
        if (!has_attention || column >= shape.attention_width) Mlp::compute(inputs[i]);
        write_group<out, reciprocal, vector>(output, scales, inputs[i][0], out_row + column, index,
                                             column, columns);
      }
    }
  }
}

template <typename T,
          Out out,
          Reciprocal reciprocal,
          bool has_attention,
          int vector,
          int threads,
          int columns_per_block>
__global__ void __launch_bounds__(threads) token_cat(const T* attention,
                                                     const T* mlp,
                                                     const float* input_scale,
                                                     const float* input_global_scale,
                                                     T* out_activation,
                                                     Fp8* out_e4m3,
                                                     Fp8* out_e5m2,
                                                     unsigned char* out_nvfp4,
                                                     unsigned char* out_nvfp4_scales,
                                                     int batches,
                                                     int rows,
                                                     long long attention_width,
                                                     long long mlp_width,
                                                     long long attention_row_stride,
                                                     long long attention_batch_stride,
                                                     long long mlp_row_stride,
                                                     long long mlp_batch_stride,
                                                     long long out_row_stride,
                                                     long long out_batch_stride) {
  concatenate<out, reciprocal, has_attention, vector, threads, columns_per_block>(
      Plain<T>{attention, {attention_row_stride, attention_batch_stride}},
      Plain<T>{mlp, {mlp_row_stride, mlp_batch_stride}},
      CatOutput<T>{out_activation,
                   out_e4m3,
                   out_e5m2,
                   out_nvfp4,
                   out_nvfp4_scales,
                   {out_row_stride, out_batch_stride},
                   input_scale,
                   input_global_scale},
      CatShape{batches, rows, attention_width, mlp_width});
}

template <typename T,
          Out out,
          Reciprocal reciprocal,
          bool has_attention,
          bool has_bias,
          int vector,
          int threads,
          int columns_per_block>
__global__ void __launch_bounds__(threads) swiglu_token_cat(const T* attention,
                                                            const T* gate_up,
                                                            const T* bias,
                                                            const float* input_scale,
                                                            T* out_activation,
                                                            Fp8* out_e4m3,
                                                            Fp8* out_e5m2,
                                                            int batches,
                                                            int rows,
                                                            long long attention_width,
                                                            long long mlp_width,
                                                            long long attention_row_stride,
                                                            long long attention_batch_stride,
                                                            long long gate_up_row_stride,
                                                            long long gate_up_batch_stride,
                                                            long long out_row_stride,
                                                            long long out_batch_stride) {
  concatenate<out, reciprocal, has_attention, vector, threads, columns_per_block>(
      Plain<T>{attention, {attention_row_stride, attention_batch_stride}},
      SwiGlu<T, has_bias>{gate_up, {gate_up_row_stride, gate_up_batch_stride}, bias, mlp_width},
      CatOutput<T>{out_activation,
                   out_e4m3,
                   out_e5m2,
                   nullptr,
                   nullptr,
                   {out_row_stride, out_batch_stride},
                   input_scale,
                   nullptr},
      CatShape{batches, rows, attention_width, mlp_width});
}

template <typename T,
          Out out,
          Reciprocal reciprocal,
          bool has_attention,
          bool has_bias,
          int vector,
          int threads,
          int columns_per_block>
__global__ void __launch_bounds__(threads) gelu_tanh_token_cat(const T* attention,
                                                               const T* mlp,
                                                               const T* bias,
                                                               const float* input_scale,
                                                               T* out_activation,
                                                               Fp8* out_e4m3,
                                                               Fp8* out_e5m2,
                                                               int batches,
                                                               int rows,
                                                               long long attention_width,
                                                               long long mlp_width,
                                                               long long attention_row_stride,
                                                               long long attention_batch_stride,
                                                               long long mlp_row_stride,
                                                               long long mlp_batch_stride,
                                                               long long out_row_stride,
                                                               long long out_batch_stride) {
  concatenate<out, reciprocal, has_attention, vector, threads, columns_per_block>(
      Plain<T>{attention, {attention_row_stride, attention_batch_stride}},
      GeluTanh<T, has_bias>{mlp, {mlp_row_stride, mlp_batch_stride}, bias},
      CatOutput<T>{out_activation,
                   out_e4m3,
                   out_e5m2,
                   nullptr,
                   nullptr,
                   {out_row_stride, out_batch_stride},
                   input_scale,
                   nullptr},
      CatShape{batches, rows, attention_width, mlp_width});
}

template <typename T,
          Out out,
          Reciprocal reciprocal,
          int vector,
          int threads,
          int columns_per_block>
__global__ void __launch_bounds__(threads) static_quant(const T* x,
                                                        const float* input_scale,
                                                        Fp8* out_e4m3,
                                                        Fp8* out_e5m2,
                                                        int batches,
                                                        int rows,
                                                        long long columns,
                                                        long long x_row_stride,
                                                        long long x_batch_stride,
                                                        long long out_row_stride,
                                                        long long out_batch_stride) {
  concatenate<out, reciprocal, false, vector, threads, columns_per_block>(
      Plain<T>{}, Plain<T>{x, {x_row_stride, x_batch_stride}},
      CatOutput<T>{nullptr,
                   out_e4m3,
                   out_e5m2,
                   nullptr,
                   nullptr,
                   {out_row_stride, out_batch_stride},
                   input_scale,
                   nullptr},
      CatShape{batches, rows, 0, columns});
}

}  // namespace kiln
