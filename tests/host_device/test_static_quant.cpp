// SPDX-License-Identifier: Apache-2.0

#include "tests/host_device/cpu_backend.h"
#include "tests/host_device/guarded_memory.h"
#include "tests/host_device/reference.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace kiln {
namespace {

struct Shape {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t vector = 1;
  std::int64_t gap = 0;  // elements between rows, more than columns
  std::string format = "e4m3";
  std::string reciprocal = "rcp_rn";
  float input_scale = 1;
};

std::string text(const Shape& shape) {
  return fmt::format("static_quant:out={},reciprocal={},vector={} rows {} columns {} gap {}",
                     shape.format, shape.reciprocal, shape.vector, shape.rows, shape.columns,
                     shape.gap);
}

// A row of bf16 patterns in order, so that enough columns meet every value.
std::uint16_t pattern(std::int64_t row, std::int64_t column) {
  return static_cast<std::uint16_t>(row * 0x3F91 + column);
}

void check(CpuBackend& backend, const Catalog& catalog, const Shape& shape) {
  INFO(text(shape));
  const auto stride = static_cast<std::size_t>(shape.columns + shape.gap);
  const std::size_t elements = stride * static_cast<std::size_t>(shape.rows);
  const auto offset = static_cast<std::size_t>(shape.vector);
  GuardedMemory x(elements * 2, offset * 2);
  GuardedMemory scale(sizeof(float), 4);
  GuardedMemory out(elements, offset);
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    for (std::int64_t column = 0; column < shape.columns; ++column) {
      x.set(static_cast<std::size_t>(row) * stride + static_cast<std::size_t>(column),
            pattern(row, column));
    }
  }
  scale.set(0, shape.input_scale);

  const auto variant =
      Variant::parse(catalog, fmt::format("static_quant:out={},reciprocal={},vector={}",
                                          shape.format, shape.reciprocal, shape.vector));
  REQUIRE_MESSAGE(variant.is_ok(), variant.status().message());
  const KernelArguments arguments = {
      .pointers = {{"x", x.span()}, {"input_scale", scale.span()}, {"out", out.span()}},
      .integers = {{"rows", shape.rows},
                   {"columns", shape.columns},
                   {"x_row_stride", static_cast<std::int64_t>(stride)},
                   {"out_row_stride", static_cast<std::int64_t>(stride)}}};
  const Status status = backend.run(*variant, arguments);
  REQUIRE_MESSAGE(status.is_ok(), status.message(), status.detail());

  const auto format = shape.format == "e4m3" ? reference::Fp8::e4m3 : reference::Fp8::e5m2;
  int mismatches = 0;
  for (std::size_t row = 0; row < static_cast<std::size_t>(shape.rows); ++row) {
    for (std::size_t column = 0; column < static_cast<std::size_t>(shape.columns); ++column) {
      const std::uint8_t expected =
          reference::quantize(x.at<std::uint16_t>(row * stride + column), 1.0F / shape.input_scale,
                              format, shape.reciprocal == "div_full");
      if (out.at<std::uint8_t>(row * stride + column) != expected) ++mismatches;
    }
    CHECK(out.is_untouched(row * stride + static_cast<std::size_t>(shape.columns),
                           static_cast<std::size_t>(shape.gap)));
  }
  CHECK(mismatches == 0);
  CHECK(out.is_guard_intact());
}

}  // namespace

TEST_SUITE("static_quant on the CPU") {
  TEST_CASE("every bf16 value, both formats, both reciprocals, several scales") {
    const auto catalog = Catalog::open({});
    REQUIRE(catalog.is_ok());
    const auto backend = CpuBackend::create({});
    REQUIRE(backend.is_ok());
    for (const char* format : {"e4m3", "e5m2"}) {
      for (const char* reciprocal : {"rcp_rn", "div_full"}) {
        for (const float scale : {1.0F, 0.37F, 3e-5F, 0x1p-126F, 1e30F}) {
          check(**backend, *catalog,
                {.columns = 65536,
                 .vector = 8,
                 .format = format,
                 .reciprocal = reciprocal,
                 .input_scale = scale});
        }
      }
    }
    CHECK((*backend)->compile_count() == 4);
  }

  TEST_CASE(
      "any column count, row gap and misalignment, and nothing beside the output is written") {
    const auto catalog = Catalog::open({});
    REQUIRE(catalog.is_ok());
    const auto backend = CpuBackend::create({});
    REQUIRE(backend.is_ok());
    for (const std::int64_t vector : {1, 2, 4, 8}) {
      for (const std::int64_t count : {1, 3, 255, 257, 1024, 1025}) {
        check(**backend, *catalog,
              {.rows = 3, .columns = count * vector, .vector = vector, .gap = 5 * vector});
      }
    }
  }
}

}  // namespace kiln
