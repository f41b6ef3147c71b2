// SPDX-License-Identifier: Apache-2.0

// Static per-tensor FP8 quantization of bf16 rows: q = fp8(x / input_scale).
// Each block takes threads * unroll * vector columns; grid rows loop over rows.

#include "kiln/access.cuh"
#include "kiln/ptx.cuh"
#include "kiln/quantize.cuh"
#include "kiln/types.cuh"

namespace kiln {

template <Out format, Reciprocal reciprocal, int vector, int threads, int unroll>
__global__ void __launch_bounds__(threads) static_quant(const Bf16* x,
                                                        const float* input_scale,
                                                        Fp8* out,
                                                        int rows,
                                                        long long columns,
                                                        long long x_row_stride,
                                                        long long out_row_stride) {
  constexpr int pairs = vector == 1 ? 1 : vector / 2;
  constexpr int step = threads * vector;
  const long long begin =
      static_cast<long long>(blockIdx.x) * (step * unroll) + static_cast<int>(threadIdx.x) * vector;

  wait_for_earlier_kernels();
  const float inverse = inverse_of<reciprocal>(*input_scale);

  for (unsigned row = blockIdx.y; row < rows; row += gridDim.y) {
    if (row + gridDim.y >= rows) let_next_kernel_start();
    const Bf16* row_x = x + row * x_row_stride;
    Fp8* row_out = out + row * out_row_stride;

    Bf16Pair values[unroll][pairs];
#pragma unroll
    for (int i = 0; i < unroll; ++i) {
      const long long column = begin + i * step;
      if (column >= columns) break;
      if constexpr (vector == 1) {
        values[i][0] = load_one(row_x + column);
      } else {
        load<vector>(row_x + column, values[i]);
      }
    }
#pragma unroll
    for (int i = 0; i < unroll; ++i) {
      const long long column = begin + i * step;
      if (column >= columns) break;
      Fp8Pair quantized[pairs];
      quantize<format, reciprocal>(values[i], inverse, quantized);
      if constexpr (vector == 1) {
        store_one(row_out + column, quantized[0]);
      } else {
        store<vector>(row_out + column, quantized);
      }
    }
  }
}

}  // namespace kiln
