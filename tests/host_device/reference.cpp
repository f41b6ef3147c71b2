// SPDX-License-Identifier: Apache-2.0

#include "tests/host_device/reference.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace kiln::reference {
namespace {

constexpr std::size_t kThreads = 128;

struct Welford {
  float count = 0;
  float mean = 0;
  float m2 = 0;
};

void push(Welford& state, float value) {
  state.count += 1.0F;
  const float reciprocal = 1.0F / state.count;
  const float delta = value - state.mean;
  state.mean = std::fma(delta, reciprocal, state.mean);
  const float rest = value - state.mean;
  state.m2 = std::fma(delta, rest, state.m2);
}

Welford merge(const Welford& b, const Welford& a) {
  Welford merged;
  merged.count = a.count + b.count;
  if (merged.count == 0) return merged;
  const float reciprocal = 1.0F / merged.count;
  const float weight_a = a.count * reciprocal;
  const float weight_b = b.count * reciprocal;
  const float delta = b.mean - a.mean;
  const float product = weight_b * b.mean;
  merged.mean = std::fma(a.mean, weight_a, product);
  const float square = delta * delta;
  const float scaled = square * a.count;
  const float sum = a.m2 + b.m2;
  merged.m2 = std::fma(scaled, weight_b, sum);
  return merged;
}

// Bits of the non-negative value with this code, which is finite.
double fp8_value(unsigned code, Fp8 format) {
  const unsigned mantissa_bits = format == Fp8::e4m3 ? 3 : 2;
  const int bias = format == Fp8::e4m3 ? 7 : 15;
  const unsigned mantissa = code & ((1U << mantissa_bits) - 1);
  const auto exponent = static_cast<int>(code >> mantissa_bits);
  const unsigned significand = exponent == 0 ? mantissa : mantissa + (1U << mantissa_bits);
  const int scale = (exponent == 0 ? 1 : exponent) - bias - static_cast<int>(mantissa_bits);
  return std::ldexp(static_cast<double>(significand), scale);
}

}  // namespace

float bf16_to_float(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

std::uint16_t float_to_bf16(float value) {
  if (std::isnan(value)) return 0x7FFF;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint32_t kept = bits >> 16;
  const std::uint32_t dropped = bits & 0xFFFF;
  const bool is_up = dropped > 0x8000 || (dropped == 0x8000 && kept % 2 == 1);
  return static_cast<std::uint16_t>(kept + (is_up ? 1 : 0));
}

std::uint8_t float_to_fp8(float value, Fp8 format) {
  if (std::isnan(value)) return 0x7F;
  const unsigned sign = std::signbit(value) ? 0x80 : 0;
  const unsigned largest = format == Fp8::e4m3 ? 0x7E : 0x7B;
  const double magnitude = std::fabs(static_cast<double>(value));
  // Codes are in the order of their values: the greatest not above, then the nearer neighbour.
  unsigned code = 0;
  while (code < largest && fp8_value(code + 1, format) <= magnitude)
    ++code;
  if (code < largest) {
    const double below = magnitude - fp8_value(code, format);
    const double above = fp8_value(code + 1, format) - magnitude;
    if (above < below || (above == below && code % 2 == 1)) ++code;
  }
  return static_cast<std::uint8_t>(sign | code);
}

RowStatistics row_statistics(std::span<const float> row, float eps) {
  std::array<Welford, kThreads> threads;
  for (std::size_t i = 0; i < row.size(); ++i) {
    push(threads[i / 4 % kThreads], row[i]);
  }
  std::array<Welford, 4> warps;
  for (std::size_t warp = 0; warp < warps.size(); ++warp) {
    for (std::size_t half = 16; half > 0; half /= 2) {
      for (std::size_t lane = 0; lane < half; ++lane) {
        Welford& lower = threads[warp * 32 + lane];
        lower = merge(lower, threads[warp * 32 + lane + half]);
      }
    }
    warps[warp] = threads[warp * 32];
  }
  const Welford total = merge(merge(warps[0], warps[2]), merge(warps[1], warps[3]));
  const float variance = total.m2 / static_cast<float>(row.size());
  return {total.mean, variance + eps};
}

float mean_square(std::span<const float> row) {
  std::array<float, kThreads> sums{};
  for (std::size_t i = 0; i < row.size(); ++i) {
    const float square = row[i] * row[i];
    sums[i % kThreads] = sums[i % kThreads] + square;
  }
  std::array<float, 32> lanes{};
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    lanes[lane] = ((sums[4 * lane] + sums[4 * lane + 1]) + sums[4 * lane + 2]) + sums[4 * lane + 3];
  }
  for (std::size_t half = 16; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane)
      lanes[lane] = lanes[lane] + lanes[lane + half];
  }
  return lanes[0] * (1.0F / static_cast<float>(row.size()));
}

}  // namespace kiln::reference
