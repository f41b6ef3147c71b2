// SPDX-License-Identifier: Apache-2.0

// LayerNorm and modulation of rows, alone or behind a gated residual, then optional FP8 or NVFP4
// quantization. kiln/modulation.cuh has the mathematics of each recipe, kiln/row_statistics.cuh
// that of mean and variance. Blocks loop over rows.

#include "kiln/modulation.cuh"
#include "kiln/normalized_rows.cuh"
#include "kiln/ptx.cuh"
#include "kiln/types.cuh"

namespace kiln {

template <int hidden,
          typename T,
          Out out,
          Recipe recipe,
          Reciprocal reciprocal,
          bool has_bias,
          int vector,
          int threads,
          int min_blocks,
          int prefetch,
          int resident,
          int preload>
__global__ void __launch_bounds__(threads, min_blocks)
    layernorm_modulate(const T* x,
                       const typename Modulation<T, recipe>::Element* scale,
                       const typename Modulation<T, recipe>::Element* shift,
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
  using Form = kiln::Form<hidden, T, out, recipe, reciprocal, vector, prefetch, resident, preload>;
  static_assert(threads == kRowThreads);
  wait_for_earlier_kernels();
  PlainRows<Form, has_bias> source = {x, bias, {x_row_stride, x_batch_stride}};
  NormalizedRows<Form> normalized = {
      scale,
      shift,
      scale_stride,
      shift_stride,
      eps,
      {out_activation, out_e4m3, out_e5m2, {out_row_stride, out_batch_stride}},
      {out_nvfp4, out_nvfp4_scales}};
  normalized.output.template read_scale<out, reciprocal>(input_scale);
  if constexpr (contains(out, Out::nvfp4)) normalized.nvfp4.global_scale = *input_global_scale;
  for_each_row<Form>(source, normalized, rows, static_cast<unsigned>(batches) * rows);
}

template <int hidden,
          typename T,
          Out out,
          Recipe recipe,
          Reciprocal reciprocal,
          bool has_bias,
          bool clip,
          int vector,
          int threads,
          int min_blocks,
          int prefetch,
          int resident,
          int preload>
__global__ void __launch_bounds__(threads, min_blocks)
    gated_residual_layernorm_modulate(const T* residual,
                                      const T* update,
                                      const typename Modulation<T, recipe>::Element* gate,
                                      const typename Modulation<T, recipe>::Element* scale,
                                      const typename Modulation<T, recipe>::Element* shift,
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
  using Form = kiln::Form<hidden, T, out, recipe, reciprocal, vector, prefetch, resident, preload>;
  static_assert(threads == kRowThreads);
  wait_for_earlier_kernels();
  GatedRows<Form, has_bias, clip> source = {residual,
                                            update,
                                            gate,
                                            bias,
                                            out_residual,
                                            {residual_row_stride, residual_batch_stride},
                                            {update_row_stride, update_batch_stride},
                                            {out_residual_row_stride, out_residual_batch_stride},
                                            gate_stride};
  NormalizedRows<Form> normalized = {
      scale,
      shift,
      scale_stride,
      shift_stride,
      eps,
      {out_activation, out_e4m3, out_e5m2, {out_row_stride, out_batch_stride}},
      {out_nvfp4, out_nvfp4_scales}};
  normalized.output.template read_scale<out, reciprocal>(input_scale);
  if constexpr (contains(out, Out::nvfp4)) normalized.nvfp4.global_scale = *input_global_scale;
  for_each_row<Form>(source, normalized, rows, static_cast<unsigned>(batches) * rows);
}

}  // namespace kiln
