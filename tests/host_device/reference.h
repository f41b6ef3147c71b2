// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the kernels must compute, written a second time: plain loops over scalars, nothing shared
// with the templates or with what stands in for CUDA on the CPU. fp32, each operation rounded once.

#include <cstdint>
#include <span>
#include <vector>

namespace kiln::reference {

float bf16_to_float(std::uint16_t bits);
std::uint16_t float_to_bf16(float value);  // to nearest, ties to even; every NaN is 0x7FFF

enum class Fp8 { e4m3, e5m2 };
// To nearest, ties to even; saturates; every NaN is 0x7F.
std::uint8_t float_to_fp8(float value, Fp8 format);
// `drops_nan`: a NaN becomes the largest finite value, as a clamp before the conversion makes it.
std::uint8_t quantize(std::uint16_t value, float inverse, Fp8 format, bool drops_nan);

struct RowStatistics {
  float mean = 0;
  float variance_and_eps = 0;  // what the reciprocal square root is taken of
};

// In the order of PyTorch's vectorized LayerNorm: 128 threads, each takes every 128th group of four
// in turn, then lanes are folded by halves, then four warps.
RowStatistics row_statistics(std::span<const std::uint16_t> row, float eps);

std::vector<std::uint16_t> layernorm_modulate(std::span<const std::uint16_t> row,
                                              std::span<const std::uint16_t> scale,
                                              std::span<const std::uint16_t> shift,
                                              float mean,
                                              float rstd);

}  // namespace kiln::reference
