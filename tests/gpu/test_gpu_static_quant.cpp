// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/fixture.h"

#include <array>
#include <cstring>

namespace kiln {
namespace {

using test::Gpu;

float float_of(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// One row of bf16 values through a variant.
std::vector<std::uint8_t> quantize(Gpu& gpu,
                                   const std::string& reciprocal,
                                   const std::vector<std::uint16_t>& values,
                                   std::uint32_t scale_bits) {
  const auto kernel = gpu.acquire("static_quant:vector=1,reciprocal=" + reciprocal);
  const auto x = gpu.buffer(values);
  const auto scale = gpu.buffer<float>({float_of(scale_bits)});
  const auto out = gpu.buffer(std::vector<std::uint8_t>(values.size(), 0xA5));
  const auto count = static_cast<std::int64_t>(values.size());
  const std::vector<Argument> arguments = {x.argument(),
                                           scale.argument(),
                                           out.argument(),
                                           Argument::of_int32(1),
                                           Argument::of_int64(count),
                                           Argument::of_int64(count),
                                           Argument::of_int64(count)};
  REQUIRE_OK(launch(*kernel, {}, arguments));
  return out.get();
}

using Bytes = std::vector<std::uint8_t>;

}  // namespace

TEST_SUITE("static_quant") {
  // Scales whose reciprocal rounds differently in the two ways, with inputs where it shows.
  TEST_CASE("both reciprocals give the bytes of their oracles") {
    Gpu gpu;
    CHECK(quantize(gpu, "rcp_rn", {0x3C9F, 0x3D1F, 0x3D9F}, 0x3F5D37A7) == Bytes{0x0B, 0x13, 0x1B});
    CHECK(quantize(gpu, "div_full", {0x3C9F, 0x3D1F, 0x3D9F}, 0x3F5D37A7) ==
          Bytes{0x0C, 0x14, 0x1C});
    CHECK(quantize(gpu, "rcp_rn", {0x3CD6, 0x3D56, 0x3DD6, 0x3E56}, 0x3FA30C30) ==
          Bytes{0x0A, 0x12, 0x1A, 0x22});
    CHECK(quantize(gpu, "div_full", {0x3CD6, 0x3D56, 0x3DD6, 0x3E56}, 0x3FA30C30) ==
          Bytes{0x0B, 0x13, 0x1B, 0x23});
    CHECK(quantize(gpu, "rcp_rn", {0x3CEB, 0x3D6B, 0x3DEB, 0x3E6B}, 0x3FA37A70) ==
          Bytes{0x0B, 0x13, 0x1B, 0x23});
    CHECK(quantize(gpu, "div_full", {0x3CEB, 0x3D6B, 0x3DEB, 0x3E6B}, 0x3FA37A70) ==
          Bytes{0x0C, 0x14, 0x1C, 0x24});
    CHECK(quantize(gpu, "rcp_rn", {0x38A7, 0xB8A7}, 0x3C859999) == Bytes{0x03, 0x83});
    CHECK(quantize(gpu, "div_full", {0x38A7, 0xB8A7}, 0x3C859999) == Bytes{0x02, 0x82});
  }

  TEST_CASE("NaN, infinities and zeros follow each oracle") {
    Gpu gpu;
    const std::vector<std::uint16_t> values = {0x7FC0, 0xFFC0, 0x7F80, 0xFF80, 0x0000, 0x8000};
    CHECK(quantize(gpu, "rcp_rn", values, 0x3F800000) == Bytes{0x7F, 0x7F, 0x7E, 0xFE, 0x00, 0x80});
    CHECK(quantize(gpu, "div_full", values, 0x3F800000) ==
          Bytes{0x7E, 0x7E, 0x7E, 0xFE, 0x00, 0x80});
  }

  TEST_CASE("every access width gives the same bytes and writes nothing else") {
    Gpu gpu;
    constexpr std::int64_t kColumns = 8248;
    constexpr std::int64_t kStride = kColumns + 64;
    constexpr int kRows = 5;
    std::vector<std::uint16_t> values(static_cast<std::size_t>(kRows) * kStride);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::uint16_t>((i * 2654435761U) >> 13U);
    }
    const auto x = gpu.buffer(values);
    const auto scale = gpu.buffer<float>({0.013F});
    std::vector<Bytes> results;
    for (const int vector : {1, 2, 4, 8}) {
      const auto kernel = gpu.acquire(fmt::format("static_quant:vector={}", vector));
      const auto out = gpu.buffer(Bytes(values.size(), 0xA5));
      REQUIRE_OK(
          launch(*kernel, {},
                 std::vector<Argument>{x.argument(), scale.argument(), out.argument(),
                                       Argument::of_int32(kRows), Argument::of_int64(kColumns),
                                       Argument::of_int64(kStride), Argument::of_int64(kStride)}));
      results.push_back(out.get());
    }
    for (const Bytes& result : results)
      CHECK(result == results.front());
    std::int64_t touched = 0;
    for (int row = 0; row < kRows; ++row) {
      for (std::int64_t column = kColumns; column < kStride; ++column) {
        if (results.front()[static_cast<std::size_t>(row * kStride + column)] != 0xA5) ++touched;
      }
    }
    CHECK(touched == 0);
  }
}

}  // namespace kiln
