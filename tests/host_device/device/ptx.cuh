// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stands in for templates/kernels/kiln/ptx.cuh where kernels run on the CPU: the same functions,
// the same bits.

#include "host_prelude.h"
#include "kiln/types.cuh"

namespace kiln {

// To `mantissa_bits` digits after the first, in a format whose least normal exponent is
// `least_exponent`: the magnitude's code, ties to even, without a bound above.
inline long round_to_code(float magnitude, int mantissa_bits, int least_exponent) {
  const int exponent = std::max(std::ilogb(magnitude), least_exponent);
  // In units of the last place. A carry into the next binade adds up as it should.
  const double units =
      std::nearbyint(std::ldexp(static_cast<double>(magnitude), mantissa_bits - exponent));
  return (static_cast<long>(exponent - least_exponent) << mantissa_bits) + static_cast<long>(units);
}

inline float first(Pair<F16> pair) {
  return host::f16_to_float(pair.bits & 0xFFFF);
}
inline float second(Pair<F16> pair) {
  return host::f16_to_float(pair.bits >> 16);
}

template <typename T>
std::uint32_t round_one_to(float value);
template <>
inline std::uint32_t round_one_to<Bf16>(float value) {
  if (std::isnan(value)) return 0x7FFF;
  const std::uint32_t bits = host::bits_of(value);
  return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;  // ties to even; may carry up to infinity
}
template <>
inline std::uint32_t round_one_to<F16>(float value) {
  if (std::isnan(value)) return 0x7FFF;
  const std::uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  if (value == 0) return sign;
  if (std::isinf(value)) return sign | 0x7C00;
  return sign |
         static_cast<std::uint32_t>(std::min(round_to_code(std::fabs(value), 10, -14), 0x7C00L));
}

template <typename T>
Pair<T> round_to(float first, float second) {
  return {round_one_to<T>(first) | round_one_to<T>(second) << 16};
}

// fp32 has more than twice the digits of either type: rounding twice gives what rounding once does.
template <typename T>
Pair<T> multiply(Pair<T> a, Pair<T> b) {
  return round_to<T>(first(a) * first(b), second(a) * second(b));
}

template <typename T>
Pair<T> add(Pair<T> a, Pair<T> b) {
  return round_to<T>(first(a) + first(b), second(a) + second(b));
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
  const long code = round_to_code(std::fabs(value), mantissa_bits, least_exponent);
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

inline unsigned convert_to_e2m1(float value) {
  if (std::isnan(value)) return 7;
  const unsigned sign = std::signbit(value) ? 8 : 0;
  if (std::isinf(value)) return sign | 7;
  if (value == 0) return sign;
  return sign | static_cast<unsigned>(std::min(round_to_code(std::fabs(value), 1, 0), 7L));
}
inline unsigned convert_to_e2m1(float first, float second) {
  return convert_to_e2m1(first) | convert_to_e2m1(second) << 4;
}

inline float divide_full(float a, float b) {
  return host::divide_full(a, b);
}

// Correctly rounded, where a GPU is within 1 ulp.
inline float approximate_reciprocal(float value) {
  const auto flush = [](float v) {
    return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v;
  };
  return host::canonical(flush(1.0f / flush(value)));
}

// Correctly rounded, where a GPU is within 2 ulp.
inline float approximate_exp2(float value) {
  return std::exp2(value);
}

inline void wait_for_earlier_kernels() {}
inline void let_next_kernel_start() {}

}  // namespace kiln
