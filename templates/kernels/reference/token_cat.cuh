// SPDX-License-Identifier: Apache-2.0

// What the kernels of token_cat.cuh must equal: a thread an element, every rounding written out,
// the steps one after another.

#include "kiln/types.cuh"
#include "reference/scalar.cuh"

namespace kiln::reference {

// Calls `at(batch, row, column)` for every element of an output.
template <typename At>
__device__ inline void for_each_element(int batches, int rows, long long columns, At at) {
  const long long column = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  for (long long batch = blockIdx.z; batch < batches; batch += gridDim.z) {
    for (long long row = blockIdx.y; row < rows; row += gridDim.y)
      at(batch, row, column);
  }
}

template <typename T>
__device__ inline T add_bias(T x, T bias) {
  return round_to<T>(__fadd_rn(to_float(x), to_float(bias)));
}

template <typename T>
__device__ inline T swiglu(T gate, T up) {
  const float g = to_float(gate);
  const float exponential = expf(-g);
  const float denominator = __fadd_rn(1.0f, exponential);
  const float activated = rounded<T>(__fdiv_rn(g, denominator));
  return round_to<T>(__fmul_rn(activated, to_float(up)));
}

template <typename T>
__device__ inline T gelu_tanh(T value) {
  const float x = to_float(value);
  const float x2 = __fmul_rn(x, x);
  const float x3 = __fmul_rn(x2, x);
  const float sum = __fmaf_rn(__uint_as_float(0x3D372713u), x3, x);
  const float t = tanhf(__fmul_rn(__uint_as_float(0x3F4C422Au), sum));
  const float half = __fmul_rn(0.5f, x);
  return round_to<T>(__fmul_rn(half, __fadd_rn(1.0f, t)));
}

template <typename T, Out out, Reciprocal reciprocal, bool has_attention>
__global__ void token_cat(const T* attention,
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
  const long long columns = attention_width + mlp_width;
  const Outputs<T> outputs = {out_activation, out_e4m3, out_e5m2, input_scale};
  for_each_element(batches, rows, columns, [&](long long batch, long long row, long long column) {
    const auto value_at = [&](long long at) {
      if (has_attention && at < attention_width) {
        return attention[batch * attention_batch_stride + row * attention_row_stride + at];
      }
      return mlp[batch * mlp_batch_stride + row * mlp_row_stride + at - attention_width];
    };
    const long long element = batch * out_batch_stride + row * out_row_stride + column;
    write<out, reciprocal>(value_at(column), outputs, element);
    if constexpr (contains(out, Out::nvfp4)) {
      if (column % 16 != 0) return;
      float values[16];
      for (int i = 0; i < 16; ++i)
        values[i] = to_float(value_at(column + i));
      const unsigned char scale = nvfp4_block(values, *input_global_scale, out_nvfp4 + element / 2);
      set_nvfp4_scale(out_nvfp4_scales, batch * rows + row, column / 16,
                      static_cast<long long>(batches) * rows, columns / 16, scale);
    }
  });
}

template <typename T, Out out, Reciprocal reciprocal, bool has_attention, bool has_bias>
__global__ void swiglu_token_cat(const T* attention,
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
  const long long columns = attention_width + mlp_width;
  const Outputs<T> outputs = {out_activation, out_e4m3, out_e5m2, input_scale};
  for_each_element(batches, rows, columns, [&](long long batch, long long row, long long column) {
    T value;
    if (has_attention && column < attention_width) {
      value = attention[batch * attention_batch_stride + row * attention_row_stride + column];
    } else {
      const long long i = column - attention_width;
      const T* gates = gate_up + batch * gate_up_batch_stride + row * gate_up_row_stride;
      T gate = gates[i];
      T up = gates[mlp_width + i];
      if (has_bias) {
        gate = add_bias(gate, bias[i]);
        up = add_bias(up, bias[mlp_width + i]);
      }
      value = swiglu(gate, up);
    }
    const long long element = batch * out_batch_stride + row * out_row_stride + column;
    write<out, reciprocal>(value, outputs, element);
  });
}

template <typename T, Out out, Reciprocal reciprocal, bool has_attention, bool has_bias>
__global__ void gelu_tanh_token_cat(const T* attention,
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
  const long long columns = attention_width + mlp_width;
  const Outputs<T> outputs = {out_activation, out_e4m3, out_e5m2, input_scale};
  for_each_element(batches, rows, columns, [&](long long batch, long long row, long long column) {
    T value;
    if (has_attention && column < attention_width) {
      value = attention[batch * attention_batch_stride + row * attention_row_stride + column];
    } else {
      const long long i = column - attention_width;
      T x = mlp[batch * mlp_batch_stride + row * mlp_row_stride + i];
      if (has_bias) x = add_bias(x, bias[i]);
      value = gelu_tanh(x);
    }
    const long long element = batch * out_batch_stride + row * out_row_stride + column;
    write<out, reciprocal>(value, outputs, element);
  });
}

template <typename T, Out out, Reciprocal reciprocal>
__global__ void static_quant(const T* x,
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
  const Outputs<T> outputs = {nullptr, out_e4m3, out_e5m2, input_scale};
  for_each_element(batches, rows, columns, [&](long long batch, long long row, long long column) {
    const T value = x[batch * x_batch_stride + row * x_row_stride + column];
    const long long element = batch * out_batch_stride + row * out_row_stride + column;
    write<out, reciprocal>(value, outputs, element);
  });
}

}  // namespace kiln::reference
