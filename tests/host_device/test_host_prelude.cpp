// SPDX-License-Identifier: Apache-2.0

// The host versions of what a GPU does in one instruction, against a second way to compute it.

#include "tests/host_device/device/host_prelude.h"
#include "tests/host_device/device/ptx.cuh"
#include "tests/host_device/device_values.h"
#include "tests/host_device/reference.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <random>

namespace kiln {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float quiet_nan_with_payload() {
  return host::float_of(0xFFC12345);
}

// One rounding of an exact value.
std::uint16_t nearest_bf16(double value) {
  if (value == 0) return std::signbit(value) ? 0x8000 : 0;
  const int exponent = std::max(std::ilogb(value), -126);
  const double units = std::nearbyint(std::ldexp(std::fabs(value), 7 - exponent));
  const auto rounded = static_cast<float>(std::ldexp(units, exponent - 7));
  const std::uint32_t bits = host::bits_of(std::copysign(rounded, static_cast<float>(value)));
  return static_cast<std::uint16_t>(bits >> 16);
}

Pair<Bf16> pair_of(std::uint16_t first, std::uint16_t second) {
  return {first | static_cast<unsigned>(second) << 16};
}

}  // namespace

TEST_SUITE("host prelude") {
  TEST_CASE("every bf16 converts to FP8 as the list of FP8 values says") {
    int mismatches = 0;
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
      const float value = reference::bf16_to_float(static_cast<std::uint16_t>(bits));
      const unsigned e4m3 = reference::float_to_fp8(value, reference::Fp8::e4m3);
      const unsigned e5m2 = reference::float_to_fp8(value, reference::Fp8::e5m2);
      if (convert_to_e4m3(value, 1.0F).bits != (e4m3 | 0x38 << 8)) ++mismatches;
      if (convert_to_e5m2(1.0F, value).bits != (0x3C | e5m2 << 8)) ++mismatches;
    }
    CHECK(mismatches == 0);
  }

  TEST_CASE("FP8 conversion breaks ties to even and saturates") {
    CHECK(convert_to_e4m3(448.0F, 464.0F).bits == 0x7E7E);
    CHECK(convert_to_e4m3(kInfinity, -1e30F).bits == 0xFE7E);
    CHECK(convert_to_e5m2(kInfinity, -61440.0F).bits == 0xFB7B);
    // Halfway between 1 and 1.125, and between 1.125 and 1.25.
    CHECK(convert_to_e4m3(1.0625F, 1.1875F).bits == 0x3A38);
    // Half of the least subnormal goes to zero, a little more does not.
    CHECK(convert_to_e4m3(0x1p-10F, 0x1.02p-10F).bits == 0x0100);
    CHECK(convert_to_e5m2(-0x1p-17F, 0x1.02p-17F).bits == 0x0180);
    CHECK(convert_to_e4m3(quiet_nan_with_payload(), -0.0F).bits == 0x807F);
    CHECK(convert_to_e5m2(quiet_nan_with_payload(), 0.0F).bits == 0x007F);
  }

  TEST_CASE("fp32 rounds to bf16 at every boundary") {
    int mismatches = 0;
    for (std::uint32_t high = 0; high < 0x10000; ++high) {
      for (const std::uint32_t low : {0x0U, 0x1U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
        const float value = host::float_of(high << 16 | low);
        std::uint32_t expected = 0x7FFF;
        if (std::isinf(value)) expected = high;
        if (std::isfinite(value)) expected = nearest_bf16(value);
        const Pair<Bf16> rounded = round_to<Bf16>(value, 1.0F);
        if (rounded.bits != (expected | 0x3F80U << 16)) ++mismatches;
        if (reference::float_to_bf16(value) != expected) ++mismatches;
      }
    }
    CHECK(mismatches == 0);
  }

  TEST_CASE("bf16 products and sums are rounded once") {
    std::mt19937 random(11);
    int mismatches = 0;
    for (int i = 0; i < 200'000; ++i) {
      const auto a = static_cast<std::uint16_t>(random());
      const auto b = static_cast<std::uint16_t>(random());
      const double x = reference::bf16_to_float(a);
      const double y = reference::bf16_to_float(b);
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      const Pair<Bf16> products = multiply(pair_of(a, 0x3F80), pair_of(b, a));
      // Below, the product of two random numbers may be rounded twice; the kernels have none.
      if (std::fabs(x * y) > 0x1p-120 && products.bits % 0x10000 != nearest_bf16(x * y)) {
        ++mismatches;
      }
      if (products.bits >> 16 != a) ++mismatches;
      // A sum is exact in a double if the exponents are near.
      if (x != 0 && y != 0 && std::abs(std::ilogb(x) - std::ilogb(y)) < 40 &&
          add(pair_of(0, a), pair_of(0, b)).bits >> 16 != nearest_bf16(x + y)) {
        ++mismatches;
      }
    }
    CHECK(mismatches == 0);
  }

  TEST_CASE("fp16 converts to fp32 exactly and back, ties to even") {
    int mismatches = 0;
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const float value = first(Pair<F16>{bits});
      const bool is_nan = (bits & 0x7C00) == 0x7C00 && (bits & 0x3FF) != 0;
      if (round_to<F16>(value, 0.0F).bits != (is_nan ? 0x7FFFU : bits)) ++mismatches;
      // Half of the way to the next, and a little more.
      if ((bits & 0x7FFF) >= 0x7BFF) continue;
      const float next = first(Pair<F16>{bits + 1});
      const float middle = (value + next) / 2;
      const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
      if (round_to<F16>(middle, 0.0F).bits != even) ++mismatches;
      if (round_to<F16>(std::nextafter(middle, next), 0.0F).bits != bits + 1) ++mismatches;
    }
    CHECK(mismatches == 0);
    CHECK(round_to<F16>(65519.0F, 65520.0F).bits == 0x7C007BFF);
    CHECK(round_to<F16>(-1e30F, kInfinity).bits == 0x7C00FC00);
  }

  TEST_CASE("E2M1 takes the nearest of its eight magnitudes, ties to even") {
    constexpr std::array kMagnitudes = {0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F};
    for (unsigned code = 0; code < kMagnitudes.size(); ++code) {
      CHECK(convert_to_e2m1(kMagnitudes[code], -kMagnitudes[code]) == (code | (code | 8U) << 4));
      if (code + 1 == kMagnitudes.size()) continue;
      const float middle = (kMagnitudes[code] + kMagnitudes[code + 1]) / 2;
      const unsigned even = code % 2 == 0 ? code : code + 1;
      CHECK(convert_to_e2m1(middle, std::nextafter(middle, 10.0F)) == (even | (code + 1) << 4));
    }
    CHECK(convert_to_e2m1(kInfinity, -1e30F) == 0xF7);
    CHECK(convert_to_e2m1(quiet_nan_with_payload(), 0.1F) == 0x07);
  }

  TEST_CASE("infinities of fp16 are limited to the largest finite values") {
    CHECK(limit_to_finite(Pair<F16>{0x7C00FC00}).bits == 0x7BFFFBFF);
    CHECK(limit_to_finite(Pair<F16>{0x7FFF7BFF}).bits == 0x7FFF7BFF);
  }

  TEST_CASE("every operation returns the one NaN of a GPU") {
    const float nan = quiet_nan_with_payload();
    const std::array results = {__fadd_rn(nan, 1.0F),
                                __fadd_rn(kInfinity, -kInfinity),
                                __fsub_rn(1.0F, nan),
                                __fmul_rn(0.0F, kInfinity),
                                __fmul_rn(nan, nan),
                                __fdiv_rn(0.0F, 0.0F),
                                __fmaf_rn(nan, 0.0F, 0.0F),
                                __fmaf_rn(0.0F, kInfinity, 1.0F),
                                __frcp_rn(nan),
                                host::minimum(nan, nan),
                                host::maximum(nan, nan),
                                rsqrtf(-1.0F),
                                host::divide_full(1.0F, nan)};
    for (const float result : results)
      CHECK(host::bits_of(result) == 0x7FFFFFFF);
    CHECK(round_to<Bf16>(nan, -nan).bits == 0x7FFF7FFF);
    CHECK(multiply(pair_of(0xFFC1, 0), pair_of(0x3F80, 0x7F80)).bits == 0x7FFF7FFF);
    CHECK(add(pair_of(0x7F80, 0xFFC1), pair_of(0xFF80, 0)).bits == 0x7FFF7FFF);
  }

  TEST_CASE("minimum and maximum drop a NaN and order the zeros") {
    const float nan = quiet_nan_with_payload();
    CHECK(host::minimum(nan, 448.0F) == 448.0F);
    CHECK(host::maximum(-448.0F, nan) == -448.0F);
    CHECK(std::signbit(host::minimum(0.0F, -0.0F)));
    CHECK(std::signbit(host::minimum(-0.0F, 0.0F)));
    CHECK_FALSE(std::signbit(host::maximum(0.0F, -0.0F)));
    CHECK_FALSE(std::signbit(host::maximum(-0.0F, 0.0F)));
  }

  TEST_CASE("a fused multiply-add rounds once") {
    // The product alone would round to 1, and the sum to 0.
    CHECK(__fmaf_rn(1.0F + 0x1p-12F, 1.0F - 0x1p-12F, -1.0F) == -0x1p-24F);
  }

  TEST_CASE("results known from a GPU replace those of the CPU, by argument bits") {
    CHECK(rsqrtf(4.0F) == 0.5F);
    CHECK(rsqrtf(0.0F) == kInfinity);
    host::DeviceValues values;
    values.reciprocal_square_root[host::bits_of(4.0F)] = 0.75F;
    values.inverse_div_full[host::bits_of(3.0F)] = 0.25F;
    host::set_device_values(&values);
    CHECK(rsqrtf(4.0F) == 0.75F);
    CHECK(rsqrtf(16.0F) == 0.25F);
    CHECK(divide_full(1.0F, 3.0F) == 0.25F);
    CHECK(divide_full(1.0F, 8.0F) == 0.125F);
    values.exponential[host::bits_of(1.0F)] = 2.75F;
    values.hyperbolic_tangent[host::bits_of(1.0F)] = 0.75F;
    CHECK(expf(1.0F) == 2.75F);
    CHECK(expf(0.0F) == 1.0F);
    CHECK(tanhf(1.0F) == 0.75F);
    CHECK(tanhf(-kInfinity) == -1.0F);
    // A result without its argument serves what it is a neighbour of.
    const float near = std::nextafter(rsqrtf(3.0F), 1.0F);
    values.reciprocal_square_roots.insert(near);
    CHECK(rsqrtf(3.0F) == near);
    CHECK(rsqrtf(5.0F) == host::correct_reciprocal_square_root(5.0F));
    host::set_device_values(nullptr);
    CHECK(rsqrtf(4.0F) == 0.5F);
  }
}

}  // namespace kiln
