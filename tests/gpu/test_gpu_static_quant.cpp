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
  const auto arguments = test::arguments_of(
      kernel->compiled().variant,
      {{"x", x.argument()}, {"input_scale", scale.argument()}, {"out_e4m3", out.argument()}},
      {{"rows", 1}, {"columns", static_cast<std::int64_t>(values.size())}});
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
}

}  // namespace kiln
