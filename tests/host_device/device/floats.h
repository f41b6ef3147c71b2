// SPDX-License-Identifier: Apache-2.0
#pragma once

// fp32 and its bits. Includes nothing of the project.

#include <cmath>
#include <cstdint>
#include <cstring>

namespace kiln::host {

inline std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float float_of(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Exact. `bits`: 16 of fp16.
inline float f16_to_float(std::uint32_t bits) {
  const std::uint32_t sign = (bits & 0x8000) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1F;
  const std::uint32_t mantissa = bits & 0x3FF;
  if (exponent == 0x1F) return float_of(sign | 0x7F800000 | mantissa << 13);
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                        : float_of((exponent + 112) << 23 | mantissa << 13);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// The one NaN that a GPU computes.
inline float canonical(float value) {
  return std::isnan(value) ? float_of(0x7FFFFFFF) : value;
}

}  // namespace kiln::host
