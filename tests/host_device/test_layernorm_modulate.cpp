// SPDX-License-Identifier: Apache-2.0

#include "tests/host_device/layernorm_modulate_case.h"
#include "tests/host_device/reference.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace kiln {
namespace {

class Fixture {
 public:
  Fixture() : catalog_(Catalog::open({})), backend_(CpuBackend::create({})) {
    REQUIRE_MESSAGE(catalog_.is_ok(), catalog_.status().message());
    REQUIRE_MESSAGE(backend_.is_ok(), backend_.status().message());
  }

  CpuBackend& backend() { return **backend_; }
  Result<LayernormModulateResult> run(const LayernormModulateCase& given) {
    return run_case(backend(), *catalog_, given);
  }
  void check(const LayernormModulateCase& given) {
    INFO(given.text());
    const auto result = run(given);
    REQUIRE_MESSAGE(result.is_ok(), result.status().message(), result.status().detail());
    CHECK(result->mismatches == 0);
    CHECK(result->compared > 0);
    CHECK(result->is_gap_untouched);
  }

 private:
  Result<Catalog> catalog_;
  Result<std::unique_ptr<CpuBackend>> backend_;
};

constexpr std::uint16_t kOne = 0x3F80;
constexpr std::uint16_t kNegativeZero = 0x8000;
constexpr std::uint16_t kLargest = 0x7F7F;
constexpr std::uint16_t kInfinity = 0x7F80;
constexpr std::uint16_t kNan = 0xFFC1;

}  // namespace

TEST_SUITE("layernorm_modulate on the CPU") {
  TEST_CASE_FIXTURE(Fixture, "any width and access width, with gaps and misaligned pointers") {
    for (const std::int64_t hidden : {4, 8, 12, 36, 260, 516, 2240}) {
      for (const std::int64_t vector : {1, 2, 4}) {
        check({.hidden = hidden,
               .rows_per_batch = 2,
               .vector = vector,
               .row_gap = 3 * vector,
               .offset = vector});
      }
    }
  }

  TEST_CASE_FIXTURE(Fixture, "any number of rows, looped over by fewer blocks, in either order") {
    for (const host::Order order : {host::Order::ascending, host::Order::descending}) {
      backend().set_order(order);
      for (const std::int64_t rows : {1, 2, 127, 128, 129}) {
        check({.hidden = 36, .rows_per_batch = rows});
      }
      check({.hidden = 516, .rows_per_batch = 129});
      check({.hidden = 512, .rows_per_batch = 17});
    }
  }

  TEST_CASE_FIXTURE(Fixture, "with and without the next row's loads ahead") {
    check({.hidden = 6144, .rows_per_batch = 9});
    check({.hidden = 6144, .rows_per_batch = 9, .vector = 1, .row_gap = 1, .offset = 1});
    check({.hidden = 16384, .rows_per_batch = 5});
  }

  TEST_CASE_FIXTURE(Fixture, "each batch has its own scale and shift") {
    check({.hidden = 260, .batches = 3, .rows_per_batch = 5});
    check({.hidden = 260, .batches = 3, .rows_per_batch = 5, .row_gap = 4, .batch_gap = 8});
    check({.hidden = 260, .batches = 7, .rows_per_batch = 1, .batch_gap = 4});
  }

  TEST_CASE_FIXTURE(Fixture, "any subset of the outputs, either reciprocal") {
    for (const char* out : {"bf16", "e4m3", "e5m2", "bf16+e4m3", "bf16+e5m2", "e4m3+e5m2"}) {
      check({.hidden = 260, .rows_per_batch = 3, .out = out});
    }
    check({.hidden = 260, .rows_per_batch = 3, .reciprocal = "div_full"});
  }

  TEST_CASE_FIXTURE(Fixture, "zeros, equal values and rows far from zero") {
    const auto constant = [](std::uint16_t bits) {
      return [bits](std::int64_t, std::int64_t) { return bits; };
    };
    for (const std::uint16_t bits : {std::uint16_t{0}, kNegativeZero, kOne, std::uint16_t{1},
                                     std::uint16_t{0x8001}, kLargest}) {
      INFO("x ", bits);
      check({.hidden = 516, .rows_per_batch = 2, .x = constant(bits)});
    }
    // 10000 and its neighbour: the variance is small beside the mean.
    check({.hidden = 516, .rows_per_batch = 3, .x = [](std::int64_t row, std::int64_t column) {
             return static_cast<std::uint16_t>(0x461C + (column * 7 + row) % 3 % 2);
           }});
    // Signed zeros reach the output.
    check({.hidden = 516, .rows_per_batch = 2, .x = constant(0), .shift = constant(kNegativeZero)});
    // 1 + scale is zero.
    check({.hidden = 516, .rows_per_batch = 2, .scale = constant(0xBF80), .shift = constant(0)});
  }

  TEST_CASE_FIXTURE(Fixture, "subnormals, infinities, NaN and overflow") {
    const auto one_of = [](std::uint16_t special, std::int64_t at) {
      return [=](std::int64_t row, std::int64_t column) {
        return row == 1 && column == at ? special : static_cast<std::uint16_t>(0x3F00 + column % 9);
      };
    };
    for (const std::uint16_t special : {kInfinity, std::uint16_t{0xFF80}, kNan}) {
      INFO("special ", special);
      for (const char* reciprocal : {"rcp_rn", "div_full"}) {
        check({.hidden = 516,
               .rows_per_batch = 3,
               .reciprocal = reciprocal,
               .x = one_of(special, 515)});
      }
      check({.hidden = 516, .batches = 2, .rows_per_batch = 1, .scale = one_of(special, 0)});
      check({.hidden = 516, .batches = 2, .rows_per_batch = 1, .shift = one_of(special, 7)});
    }
    // Subnormal x, with an eps so small that they are not lost.
    check({.hidden = 516,
           .rows_per_batch = 2,
           .eps = 1e-38F,
           .x = [](std::int64_t, std::int64_t column) {
             return static_cast<std::uint16_t>(column % 0x80 + (column % 2 == 0 ? 0 : 0x8000));
           }});
    // The variance overflows.
    check({.hidden = 516, .rows_per_batch = 2, .x = [](std::int64_t, std::int64_t column) {
             return column % 2 == 0 ? kLargest : static_cast<std::uint16_t>(kLargest | 0x8000);
           }});
    // FP8 saturates.
    check({.hidden = 516, .rows_per_batch = 2, .input_scale = 1e-4F});
    check({.hidden = 516, .rows_per_batch = 2, .input_scale = 1e-40F});
  }

  TEST_CASE_FIXTURE(Fixture, "a pointer that is not aligned for the access width is refused") {
    const auto result = run({.hidden = 8, .vector = 4, .offset = 2});
    CHECK(result.status().code() == Code::invalid_argument);
    CHECK(result.status().message().find("argument \"x\"") != std::string::npos);
  }

  TEST_CASE_FIXTURE(Fixture, "a variant is compiled once") {
    check({.hidden = 8, .rows_per_batch = 1});
    check({.hidden = 8, .rows_per_batch = 2});
    CHECK(backend().compile_count() == 1);
    check({.hidden = 12});
    CHECK(backend().compile_count() == 2);
  }
}

}  // namespace kiln
