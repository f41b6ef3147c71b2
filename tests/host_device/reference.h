// SPDX-License-Identifier: Apache-2.0
#pragma once

// Numbers written a second time, to check what stands in for CUDA on the CPU and what golden
// vectors say of rows: plain loops over scalars. fp32, each operation rounded once.

#include <cstdint>
#include <span>

namespace kiln::reference {

float bf16_to_float(std::uint16_t bits);
std::uint16_t float_to_bf16(float value);  // to nearest, ties to even; every NaN is 0x7FFF

enum class Fp8 { e4m3, e5m2 };
// To nearest, ties to even; saturates; every NaN is 0x7F.
std::uint8_t float_to_fp8(float value, Fp8 format);

struct RowStatistics {
  float mean = 0;
  float variance_and_eps = 0;  // what the reciprocal square root is taken of
};

// In the order of PyTorch's vectorized LayerNorm: 128 threads, each takes every 128th group of four
// in turn, then lanes are folded by halves, then four warps.
RowStatistics row_statistics(std::span<const float> row, float eps);

// In the order of PyTorch's eager mean over many rows: 128 sums, each of every 128th square.
float mean_square(std::span<const float> row);

}  // namespace kiln::reference
