// SPDX-License-Identifier: Apache-2.0

// What rmsnorm_modulate and gated_residual_rmsnorm_modulate must equal: one thread a row, one
// element and one operation after another.

#include "kiln/types.cuh"
#include "reference/scalar.cuh"

namespace kiln::reference {

// `element(i)`: the i-th of the row. In the order of PyTorch's eager mean over many rows: 32 lanes
// with a sum for each of four neighbours.
template <typename Element>
__device__ float reciprocal_root_mean_square(const Element& element, int hidden, float eps) {
  float lanes[32];
  for (int lane = 0; lane < 32; ++lane) {
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int vector = lane; vector < hidden / 4; vector += 32) {
      for (int i = 0; i < 4; ++i) {
        const float x = element(4 * vector + i);
        sums[i] = __fadd_rn(sums[i], __fmul_rn(x, x));
      }
    }
    lanes[lane] = __fadd_rn(__fadd_rn(__fadd_rn(sums[0], sums[1]), sums[2]), sums[3]);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    for (int lane = 0; lane < offset; ++lane)
      lanes[lane] = __fadd_rn(lanes[lane], lanes[lane + offset]);
  }
  const float mean = __fmul_rn(lanes[0], __fdiv_rn(1.0f, static_cast<float>(hidden)));
  return rsqrtf(__fadd_rn(mean, eps));
}

template <typename T>
__device__ float normalized(float x, float rstd, float weight) {
  return rounded<T>(__fmul_rn(rounded<T>(__fmul_rn(x, rstd)), weight));
}

template <typename T, Out out, Reciprocal reciprocal, typename Element>
__device__ void write_row(const Element& element,
                          const T* weight,
                          const T* scale,
                          const Outputs<T>& outputs,
                          long long offset,
                          int hidden,
                          float eps) {
  const float rstd = reciprocal_root_mean_square(element, hidden, eps);
  for (int i = 0; i < hidden; ++i) {
    const float n = normalized<T>(element(i), rstd, to_float(weight[i]));
    const float factor = rounded<T>(__fadd_rn(1.0f, to_float(scale[i])));
    const float m = rounded<T>(__fmul_rn(n, factor));
    write<out, reciprocal>(round_to<T>(m), outputs, offset + i);
  }
}

template <int hidden, typename T, Out out, Reciprocal reciprocal, bool has_bias>
__global__ void rmsnorm_modulate(const T* x,
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
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= static_cast<long long>(batches) * rows) return;
  const long long batch = index / rows;
  const long long row = index % rows;
  const T* row_x = x + batch * x_batch_stride + row * x_row_stride;
  const auto element = [&](int i) {
    const float value = to_float(row_x[i]);
    return has_bias ? rounded<T>(__fadd_rn(value, to_float(bias[i]))) : value;
  };
  const Outputs<T> outputs = {out_activation, out_e4m3, out_e5m2, input_scale};
  write_row<T, out, reciprocal>(element, weight, scale + batch * scale_stride, outputs,
                                batch * out_batch_stride + row * out_row_stride, hidden, eps);
}

template <int hidden, typename T, Out out, Reciprocal reciprocal, bool has_bias, bool clip>
__global__ void gated_residual_rmsnorm_modulate(const T* residual,
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
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= static_cast<long long>(batches) * rows) return;
  const long long batch = index / rows;
  const long long row = index % rows;
  const T* row_residual = residual + batch * residual_batch_stride + row * residual_row_stride;
  const T* row_update = update + batch * update_batch_stride + row * update_row_stride;
  const T* row_gate = gate + batch * gate_stride;
  const auto updated = [&](int i) {
    const float value = to_float(row_update[i]);
    return has_bias ? rounded<T>(__fadd_rn(value, to_float(bias[i]))) : value;
  };
  const float update_rstd = reciprocal_root_mean_square(updated, hidden, eps);
  const auto element = [&](int i) {
    const float g = rounded<T>(tanhf(to_float(row_gate[i])));
    const float n = normalized<T>(updated(i), update_rstd, to_float(update_weight[i]));
    const float gated = rounded<T>(__fmul_rn(g, n));
    const float sum = rounded<T>(__fadd_rn(to_float(row_residual[i]), gated));
    return clip ? clipped(sum) : sum;
  };
  if constexpr (contains(out, kActivation | kFp8)) {
    const Outputs<T> outputs = {out_activation, out_e4m3, out_e5m2, input_scale};
    write_row<T, out, reciprocal>(element, weight, scale + batch * scale_stride, outputs,
                                  batch * out_batch_stride + row * out_row_stride, hidden, eps);
  }
  // Last, since it may lie where the residual does.
  if constexpr (contains(out, Out::residual)) {
    T* row_sum = out_residual + batch * out_residual_batch_stride + row * out_residual_row_stride;
    for (int i = 0; i < hidden; ++i)
      row_sum[i] = round_to<T>(element(i));
  }
}

}  // namespace kiln::reference
