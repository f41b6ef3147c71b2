// SPDX-License-Identifier: Apache-2.0
#include "runtime/check.h"
#include "runtime/random_data.h"
#include "runtime/timing.h"
#include "runtime/workload.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

namespace kiln {
namespace {

constexpr std::byte kPattern{0x11};
constexpr std::byte kOtherPattern{0x22};

// Two batches of two rows of three elements, with gaps behind rows and batches.
TensorLayout strided() {
  return {.name = "out",
          .dtype = "bf16",
          .element_bytes = 2,
          .is_output = true,
          .shape = {2, 2, 3},
          .strides = {10, 4, 1}};
}

WrittenOutput untouched(const TensorLayout& layout, std::byte pattern) {
  const auto span = static_cast<std::size_t>(layout.span() * layout.element_bytes);
  return {pattern, std::vector<std::byte>(span + 2 * kGuardBytes, pattern)};
}

// As a kernel that writes the same value everywhere.
WrittenOutput written(const TensorLayout& layout, std::byte pattern) {
  WrittenOutput output = untouched(layout, pattern);
  for (std::int64_t row = 0; row < row_count(layout); ++row) {
    const std::int64_t begin = row_offset(layout, row) * layout.element_bytes;
    std::memset(output.bytes.data() + kGuardBytes + begin, 0x33, 6);
  }
  return output;
}

float value_at(const std::vector<std::byte>& elements, std::size_t i) {
  float value = 0;
  std::memcpy(&value, elements.data() + i * sizeof(value), sizeof(value));
  return value;
}

}  // namespace

TEST_SUITE("compare_output") {
  TEST_CASE("equal elements match, whatever lies between them") {
    const TensorLayout layout = strided();
    CHECK(row_count(layout) == 4);
    CHECK(row_offset(layout, 3) == 14);
    const OutputCheck check =
        compare_output(layout, written(layout, kPattern), written(layout, kOtherPattern));
    CHECK(check.name == "out");
    CHECK(check.elements == 12);
    CHECK(check.is_equal());
    CHECK_FALSE(check.first.has_value());
  }

  TEST_CASE("a different bit is counted, and the first is told") {
    const TensorLayout layout = strided();
    WrittenOutput kernel = written(layout, kPattern);
    kernel.bytes[kGuardBytes + (10 + 4 + 1) * 2] = std::byte{0x32};
    kernel.bytes[kGuardBytes + (10 + 4 + 2) * 2] = std::byte{0x32};
    const OutputCheck check = compare_output(layout, kernel, written(layout, kOtherPattern));
    CHECK(check.mismatches == 2);
    CHECK(check.stray_bytes == 0);
    REQUIRE(check.first.has_value());
    CHECK(check.first->index == std::vector<std::int64_t>{1, 1, 1});
    CHECK(check.first->bits == 0x3332);
    CHECK(check.first->reference_bits == 0x3333);
  }

  TEST_CASE("what neither kernel wrote is a mismatch") {
    const TensorLayout layout = strided();
    const OutputCheck check =
        compare_output(layout, untouched(layout, kPattern), untouched(layout, kOtherPattern));
    CHECK(check.mismatches == 12);
    CHECK(check.stray_bytes == 0);
  }

  TEST_CASE("bytes written in a gap or a guard are counted") {
    const TensorLayout layout = strided();
    WrittenOutput kernel = written(layout, kPattern);
    kernel.bytes.front() = std::byte{0x33};
    kernel.bytes.back() = std::byte{0x33};
    WrittenOutput reference = written(layout, kOtherPattern);
    reference.bytes[kGuardBytes + 3 * 2] = std::byte{0x33};
    const OutputCheck check = compare_output(layout, kernel, reference);
    CHECK(check.mismatches == 0);
    CHECK(check.stray_bytes == 3);
    CHECK_FALSE(check.is_equal());
  }

  TEST_CASE("an output without elements is equal") {
    TensorLayout layout = strided();
    layout.shape = {2, 2, 0};
    const OutputCheck check =
        compare_output(layout, untouched(layout, kPattern), untouched(layout, kOtherPattern));
    CHECK(check.elements == 0);
    CHECK(check.is_equal());
  }
}

TEST_SUITE("random_elements") {
  TEST_CASE("are about normally distributed, and the same for the same seed") {
    constexpr std::size_t kCount = 100'000;
    const auto elements = random_elements("f32", kCount, 7);
    REQUIRE(elements.is_ok());
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      const double value = value_at(*elements, i);
      sum += value;
      squares += value * value;
    }
    CHECK(std::abs(sum / kCount) < 0.02);
    CHECK(std::abs(squares / kCount - 1) < 0.02);
    CHECK(*elements == *random_elements("f32", kCount, 7));
    CHECK(*elements != *random_elements("f32", kCount, 8));
  }

  TEST_CASE("of shorter types are the same values, cut") {
    constexpr std::size_t kCount = 1000;
    const auto f32 = random_elements("f32", kCount, 7);
    const auto bf16 = random_elements("bf16", kCount, 7);
    const auto f16 = random_elements("f16", kCount, 7);
    REQUIRE(bf16->size() == 2 * kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      CHECK(std::memcmp(bf16->data() + 2 * i, f32->data() + 4 * i + 2, 2) == 0);
      std::uint16_t half = 0;
      std::memcpy(&half, f16->data() + 2 * i, 2);
      const int exponent = half >> 10 & 0x1F;
      const double magnitude =
          exponent == 0 ? 0 : std::ldexp(1 + (half & 0x3FF) / 1024.0, exponent - 15);
      const double value = (half & 0x8000) != 0 ? -magnitude : magnitude;
      CHECK(std::abs(value - static_cast<double>(value_at(*f32, i))) < 0.004);
    }
  }

  TEST_CASE("of one byte are any byte; indices are refused") {
    CHECK(random_elements("e4m3", 10, 7)->size() == 10);
    CHECK(random_elements("i32", 10, 7).status().code() == Code::unsupported);
    CHECK(random_scales("u8", 1, 7).status().code() == Code::unsupported);
  }

  TEST_CASE("as scales are positive and small") {
    const auto scales = random_scales("f32", 1000, 7);
    for (std::size_t i = 0; i < 1000; ++i) {
      CHECK(value_at(*scales, i) >= 0.01F);
      CHECK(value_at(*scales, i) <= 0.03F);
    }
  }
}

TEST_SUITE("median") {
  TEST_CASE("is the value in the middle") {
    CHECK(median({}) == 0);
    CHECK(median({3}) == 3);
    CHECK(median({9, 1, 5}) == 5);
  }
}

}  // namespace kiln
