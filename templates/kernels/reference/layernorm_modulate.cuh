// SPDX-License-Identifier: Apache-2.0

// What layernorm_modulate and gated_residual_layernorm_modulate must equal: one thread a row, one
// element and one operation after another.

#include "kiln/types.cuh"
#include "reference/scalar.cuh"

namespace kiln {

enum class Recipe { aten, wan, wan_affine };

}  // namespace kiln

namespace kiln::reference {

struct Welford {
  float count;
  float mean;
  float m2;
};

__device__ inline Welford push(Welford state, float value) {
  const float count = state.count + 1.0f;
  const float difference = __fsub_rn(value, state.mean);
  const float mean = __fmaf_rn(difference, __frcp_rn(count), state.mean);
  const float rest = __fsub_rn(value, mean);
  return {count, mean, __fmaf_rn(difference, rest, state.m2)};
}

__device__ inline Welford combine(Welford b, Welford a) {
  const float count = __fadd_rn(a.count, b.count);
  if (count == 0.0f) return {0.0f, 0.0f, 0.0f};
  const float factor = __frcp_rn(count);
  const float weight_a = __fmul_rn(a.count, factor);
  const float weight_b = __fmul_rn(b.count, factor);
  const float difference = __fsub_rn(b.mean, a.mean);
  const float mean = __fmaf_rn(a.mean, weight_a, __fmul_rn(weight_b, b.mean));
  const float square = __fmul_rn(difference, difference);
  const float sum = __fadd_rn(a.m2, b.m2);
  return {count, mean, __fmaf_rn(__fmul_rn(square, a.count), weight_b, sum)};
}

struct Statistics {
  float mean;
  float rstd;
};

// `element(i)`: the i-th of the row. In the order of PyTorch's vectorized LayerNorm.
template <typename Element>
__device__ Statistics row_statistics(const Element& element, int hidden, float eps) {
  Welford threads[128];
  for (int thread = 0; thread < 128; ++thread) {
    threads[thread] = {0.0f, 0.0f, 0.0f};
    for (int vector = thread; vector < hidden / 4; vector += 128) {
      for (int i = 0; i < 4; ++i)
        threads[thread] = push(threads[thread], element(4 * vector + i));
    }
  }
  for (int warp = 0; warp < 4; ++warp) {
    for (int offset = 16; offset > 0; offset /= 2) {
      for (int lane = 0; lane < offset; ++lane) {
        Welford& lower = threads[32 * warp + lane];
        lower = combine(lower, threads[32 * warp + lane + offset]);
      }
    }
  }
  const Welford even = combine(threads[0], threads[64]);
  const Welford odd = combine(threads[32], threads[96]);
  const Welford row = combine(even, odd);
  const float variance = __fdiv_rn(row.m2, static_cast<float>(hidden));
  return {row.mean, rsqrtf(__fadd_rn(variance, eps))};
}

// Of scale, shift and gate.
template <typename T, Recipe recipe>
struct ModulationType {
  using Type = float;
};
template <typename T>
struct ModulationType<T, Recipe::aten> {
  using Type = T;
};

__device__ inline float modulation_value(const float* values, int i) {
  return values[i];
}
template <typename T>
__device__ inline float modulation_value(const T* values, int i) {
  return to_float(values[i]);
}

template <typename T>
__device__ float modulate(float x, Statistics statistics, float scale, float shift, Recipe recipe) {
  const float centered = __fsub_rn(x, statistics.mean);
  const float normalized = __fmul_rn(statistics.rstd, centered);
  if (recipe == Recipe::wan_affine) return rounded<T>(__fmaf_rn(scale, normalized, shift));
  if (recipe == Recipe::wan) {
    const float factor = __fadd_rn(1.0f, scale);
    return rounded<T>(__fadd_rn(__fmul_rn(normalized, factor), shift));
  }
  const float y = rounded<T>(normalized);
  const float factor = rounded<T>(__fadd_rn(1.0f, scale));
  const float product = rounded<T>(__fmul_rn(y, factor));
  return rounded<T>(__fadd_rn(product, shift));
}

template <typename T>
__device__ float add_gated(float residual, float update, float gate, Recipe recipe) {
  const float product = __fmul_rn(update, gate);
  if (recipe == Recipe::aten) return rounded<T>(__fadd_rn(residual, rounded<T>(product)));
  return rounded<T>(__fadd_rn(residual, product));
}

template <typename T>
struct NormOutputs {
  Outputs<T> row;
  unsigned char* nvfp4;
  unsigned char* nvfp4_scales;
  const float* input_global_scale;
};

// `element(i)`: the i-th of the row that begins `offset` elements from the start of the outputs and
// is the `row`-th of `rows`.
template <typename T, Out out, Recipe recipe, Reciprocal reciprocal, typename Element>
__device__ void write_row(const Element& element,
                          const typename ModulationType<T, recipe>::Type* scale,
                          const typename ModulationType<T, recipe>::Type* shift,
                          const NormOutputs<T>& outputs,
                          long long offset,
                          long long row,
                          long long rows,
                          int hidden,
                          float eps) {
  const Statistics statistics = row_statistics(element, hidden, eps);
  const auto modulated = [&](int i) {
    return modulate<T>(element(i), statistics, modulation_value(scale, i),
                       modulation_value(shift, i), recipe);
  };
  for (int i = 0; i < hidden; ++i) {
    const float m = modulated(i);
    write<out, reciprocal>(round_to<T>(m), outputs.row, offset + i);
  }
  if constexpr (contains(out, Out::nvfp4)) {
    for (int block = 0; block < hidden / 16; ++block) {
      float values[16];
      for (int i = 0; i < 16; ++i)
        values[i] = modulated(16 * block + i);
      const unsigned char block_scale =
          nvfp4_block(values, *outputs.input_global_scale, outputs.nvfp4 + offset / 2 + 8 * block);
      set_nvfp4_scale(outputs.nvfp4_scales, row, block, rows, hidden / 16, block_scale);
    }
  }
}

template <int hidden, typename T, Out out, Recipe recipe, Reciprocal reciprocal, bool has_bias>
__global__ void layernorm_modulate(const T* x,
                                   const typename ModulationType<T, recipe>::Type* scale,
                                   const typename ModulationType<T, recipe>::Type* shift,
                                   const T* bias,
                                   const float* input_scale,
                                   const float* input_global_scale,
                                   T* out_activation,
                                   Fp8* out_e4m3,
                                   Fp8* out_e5m2,
                                   unsigned char* out_nvfp4,
                                   unsigned char* out_nvfp4_scales,
                                   int batches,
                                   int rows,
                                   long long x_row_stride,
                                   long long x_batch_stride,
                                   long long scale_stride,
                                   long long shift_stride,
                                   long long out_row_stride,
                                   long long out_batch_stride,
                                   float eps) {
  const long long all_rows = static_cast<long long>(batches) * rows;
  const long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= all_rows) return;
  const long long batch = row / rows;
  const T* row_x = x + batch * x_batch_stride + row % rows * x_row_stride;
  const auto element = [&](int i) {
    const float value = to_float(row_x[i]);
    return has_bias ? rounded<T>(__fadd_rn(value, to_float(bias[i]))) : value;
  };
  const NormOutputs<T> outputs = {{out_activation, out_e4m3, out_e5m2, input_scale},
                                  out_nvfp4,
                                  out_nvfp4_scales,
                                  input_global_scale};
  write_row<T, out, recipe, reciprocal>(
      element, scale + batch * scale_stride, shift + batch * shift_stride, outputs,
      batch * out_batch_stride + row % rows * out_row_stride, row, all_rows, hidden, eps);
}

template <int hidden,
          typename T,
          Out out,
          Recipe recipe,
          Reciprocal reciprocal,
          bool has_bias,
          bool clip>
__global__ void gated_residual_layernorm_modulate(
    const T* residual,
    const T* update,
    const typename ModulationType<T, recipe>::Type* gate,
    const typename ModulationType<T, recipe>::Type* scale,
    const typename ModulationType<T, recipe>::Type* shift,
    const T* bias,
    const float* input_scale,
    const float* input_global_scale,
    T* out_residual,
    T* out_activation,
    Fp8* out_e4m3,
    Fp8* out_e5m2,
    unsigned char* out_nvfp4,
    unsigned char* out_nvfp4_scales,
    int batches,
    int rows,
    long long residual_row_stride,
    long long residual_batch_stride,
    long long update_row_stride,
    long long update_batch_stride,
    long long gate_stride,
    long long scale_stride,
    long long shift_stride,
    long long out_residual_row_stride,
    long long out_residual_batch_stride,
    long long out_row_stride,
    long long out_batch_stride,
    float eps) {
  const long long all_rows = static_cast<long long>(batches) * rows;
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= all_rows) return;
  const long long batch = index / rows;
  const long long row = index % rows;
  const T* row_residual = residual + batch * residual_batch_stride + row * residual_row_stride;
  const T* row_update = update + batch * update_batch_stride + row * update_row_stride;
  const auto* row_gate = gate + batch * gate_stride;
  const auto element = [&](int i) {
    float added = to_float(row_update[i]);
    if (has_bias) added = rounded<T>(__fadd_rn(added, to_float(bias[i])));
    const float sum =
        add_gated<T>(to_float(row_residual[i]), added, modulation_value(row_gate, i), recipe);
    return clip ? clipped(sum) : sum;
  };
  if constexpr (contains(out, kActivation | kFp8 | Out::nvfp4)) {
    const NormOutputs<T> outputs = {{out_activation, out_e4m3, out_e5m2, input_scale},
                                    out_nvfp4,
                                    out_nvfp4_scales,
                                    input_global_scale};
    write_row<T, out, recipe, reciprocal>(
        element, scale + batch * scale_stride, shift + batch * shift_stride, outputs,
        batch * out_batch_stride + row * out_row_stride, index, all_rows, hidden, eps);
  }
  // Last, since it may lie where the residual does.
  if constexpr (contains(out, Out::residual)) {
    T* row_sum = out_residual + batch * out_residual_batch_stride + row * out_residual_row_stride;
    for (int i = 0; i < hidden; ++i)
      row_sum[i] = round_to<T>(element(i));
  }
}

}  // namespace kiln::reference
