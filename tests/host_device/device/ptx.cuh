// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stands in for templates/kernels/kiln/ptx.cuh where kernels run on the CPU: the same functions,
// the same bits.

#include "host_prelude.h"
#include "kiln/types.cuh"

namespace kiln {

inline std::uint32_t round_one_to_bf16(float value) {
  if (std::isnan(value)) return 0x7FFF;
  const std::uint32_t bits = host::bits_of(value);
  return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;  // ties to even; may carry up to infinity
}

inline Bf16Pair round_to_bf16(float first, float second) {
  return {round_one_to_bf16(first) | round_one_to_bf16(second) << 16};
}

// fp32 has more than twice the digits of bf16: rounding twice gives what rounding once does.
inline Bf16Pair multiply(Bf16Pair a, Bf16Pair b) {
  return round_to_bf16(first(a) * first(b), second(a) * second(b));
}

inline Bf16Pair add(Bf16Pair a, Bf16Pair b) {
  return round_to_bf16(first(a) + first(b), second(a) + second(b));
}

// `largest`: the code of the largest finite value.
inline unsigned convert_to_fp8(float value,
                               int mantissa_bits,
                               int least_exponent,
                               unsigned largest) {
  if (std::isnan(value)) return 0x7F;
  const unsigned sign = std::signbit(value) ? 0x80 : 0;
  if (std::isinf(value)) return sign | largest;
  if (value == 0) return sign;
  const int exponent = std::ilogb(value) < least_exponent ? least_exponent : std::ilogb(value);
  // In units of the last place; rounds to even. A carry into the next binade adds up as it should.
  const float units = std::nearbyint(std::ldexp(std::fabs(value), mantissa_bits - exponent));
  const long code =
      (static_cast<long>(exponent - least_exponent) << mantissa_bits) + static_cast<long>(units);
  return sign | (code > static_cast<long>(largest) ? largest : static_cast<unsigned>(code));
}

inline Fp8Pair convert_to_e4m3(float first, float second) {
  return {static_cast<unsigned short>(convert_to_fp8(first, 3, -6, 0x7E) |
                                      convert_to_fp8(second, 3, -6, 0x7E) << 8)};
}

inline Fp8Pair convert_to_e5m2(float first, float second) {
  return {static_cast<unsigned short>(convert_to_fp8(first, 2, -14, 0x7B) |
                                      convert_to_fp8(second, 2, -14, 0x7B) << 8)};
}

inline float divide_full(float a, float b) {
  return host::divide_full(a, b);
}

inline void wait_for_earlier_kernels() {}
inline void let_next_kernel_start() {}

}  // namespace kiln
