// SPDX-License-Identifier: Apache-2.0

#include "tests/host_device/case_fixture.h"

#include <cstdint>
#include <limits>
#include <string>

namespace kiln {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

VariantCase any_case(const std::string& spec) {
  return {.spec = spec,
          .shape = {{"batches", *rc::gen::inRange<std::int64_t>(1, 4)},
                    {"rows", *CaseFixture::any_rows()}},
          .offset = *CaseFixture::any_gap(),
          .row_gap = *CaseFixture::any_gap(),
          .batch_gap = *CaseFixture::any_gap(),
          .seed = *rc::gen::arbitrary<unsigned>(),
          .specials = *rc::gen::element(0U, 0U, 2U, 100U),
          .input_scale = *rc::gen::element(0.02F, 1.0F, 1e-4F, 1e-40F, 300.0F)};
}

}  // namespace

TEST_SUITE("layernorm_modulate on the CPU") {
  TEST_CASE_FIXTURE(CaseFixture, "equals the reference for any rows, strides and values") {
    for (const char* spec : {
             "layernorm_modulate:hidden=36,out=bf16+e4m3+e5m2",
             "layernorm_modulate:hidden=516,out=e4m3,vector=1,reciprocal=div_full",
             "layernorm_modulate:hidden=260,dtype=f16,out=f16+e5m2,vector=2,bias=true",
             "layernorm_modulate:hidden=132,out=bf16+e4m3,recipe=wan",
             "layernorm_modulate:hidden=100,dtype=f16,out=f16,recipe=wan_affine,bias=true",
             "layernorm_modulate:hidden=144,out=nvfp4+bf16",
             "gated_residual_layernorm_modulate:hidden=36,out=residual+bf16+e4m3+e5m2",
             "gated_residual_layernorm_modulate:hidden=260,out=residual,bias=true,vector=1",
             "gated_residual_layernorm_modulate:hidden=132,dtype=f16,out=residual+f16+e4m3,clip="
             "true,"
             "bias=true",
             "gated_residual_layernorm_modulate:hidden=68,out=residual+bf16,recipe=wan",
             "gated_residual_layernorm_modulate:hidden=68,out=e4m3,recipe=wan_affine,vector=2",
             "gated_residual_layernorm_modulate:hidden=80,out=residual+nvfp4,vector=2",
         }) {
      check_any(spec, [&] { return any_case(spec); });
    }
  }

  TEST_CASE_FIXTURE(CaseFixture, "any width, with every form of loads ahead") {
    for (const int hidden : {4, 512, 2240, 3072, 6144, 16384}) {
      check({.spec = fmt::format("layernorm_modulate:hidden={},out=bf16+e4m3", hidden),
             .shape = {{"rows", 9}}});
      check({.spec = fmt::format("gated_residual_layernorm_modulate:hidden={},out=residual+e4m3",
                                 hidden),
             .shape = {{"rows", 5}},
             .row_gap = 1});
    }
    check({.spec = "layernorm_modulate:hidden=6144,vector=1",
           .shape = {{"rows", 3}},
           .offset = 1,
           .row_gap = 1});
  }

  TEST_CASE_FIXTURE(CaseFixture, "blocks in either order give the same") {
    for (const host::Order order : {host::Order::ascending, host::Order::descending}) {
      backend().set_order(order);
      check({.spec = "layernorm_modulate:hidden=36", .shape = {{"rows", 129}}});
      check({.spec = "gated_residual_layernorm_modulate:hidden=36", .shape = {{"rows", 129}}});
    }
    backend().set_order(host::Order::ascending);
  }

  TEST_CASE_FIXTURE(CaseFixture, "the sum may be written over the residual") {
    for (const char* out : {"residual", "residual+e4m3"}) {
      check({.spec = fmt::format("gated_residual_layernorm_modulate:hidden=36,out={}", out),
             .shape = {{"batches", 2}, {"rows", 7}},
             .row_gap = 1,
             .aliases = {{"out_residual", "residual"}}});
    }
  }

  TEST_CASE_FIXTURE(CaseFixture, "equal values, huge means and rows of extremes") {
    const std::string spec = "layernorm_modulate:hidden=516,out=bf16+e4m3";
    const auto constant = [](float value) { return [value](std::int64_t) { return value; }; };
    for (const float value : {0.0F, -0.0F, 1.0F, 1e-40F, -1e-40F, 3.38e38F, kInfinity, kNan}) {
      check({.spec = spec, .shape = {{"rows", 2}}, .values = {{"x", constant(value)}}});
      check({.spec = spec, .shape = {{"rows", 2}}, .values = {{"scale", constant(value)}}});
      check({.spec = spec, .shape = {{"rows", 2}}, .values = {{"shift", constant(value)}}});
    }
    // The variance is small beside the mean.
    check({.spec = spec,
           .shape = {{"rows", 3}},
           .values = {{"x", [](std::int64_t i) {
                         return 10000.0F + static_cast<float>(i * 7 % 3 % 2) * 64.0F;
                       }}}});
    // 1 + scale is zero; subnormal rows with an eps that does not hide them.
    check({.spec = spec, .shape = {{"rows", 2}}, .values = {{"scale", constant(-1.0F)}}});
    check(
        {.spec = spec,
         .shape = {{"rows", 2}},
         .eps = 1e-38F,
         .values = {{"x", [](std::int64_t i) { return static_cast<float>(i % 5 - 2) * 1e-40F; }}}});
    // The variance overflows.
    check({.spec = spec,
           .shape = {{"rows", 2}},
           .values = {{"x", [](std::int64_t i) { return i % 2 == 0 ? 3.3e38F : -3.3e38F; }}}});
  }

  TEST_CASE_FIXTURE(CaseFixture, "what a variant cannot do is refused by the argument's name") {
    CHECK(refusal({.spec = "layernorm_modulate:hidden=6"}).find("\"hidden\" is 6") !=
          std::string::npos);
    CHECK(refusal({.spec = "layernorm_modulate:hidden=16388"}).find("\"hidden\" is 16388") !=
          std::string::npos);
    CHECK(refusal({.spec = "layernorm_modulate:hidden=8,out=f16"})
              .find("activations keep their type") != std::string::npos);
    CHECK(refusal({.spec = "layernorm_modulate:hidden=8,out=nvfp4"})
              .find("16 elements share a scale") != std::string::npos);
    CHECK(refusal({.spec = "layernorm_modulate:hidden=8,vector=4",
                   .shape = {{"rows", 1}, {"x_row_stride", 10}}})
              .find("\"x_row_stride\" is 10") != std::string::npos);
    CHECK(refusal({.spec = "layernorm_modulate:hidden=8", .shape = {{"rows", 0}}})
              .find("\"rows\" is 0") != std::string::npos);
  }

  TEST_CASE_FIXTURE(CaseFixture, "a variant is compiled once") {
    const VariantCase given = {.spec = "layernorm_modulate:hidden=36", .shape = {{"rows", 1}}};
    check(given);
    const std::size_t count = backend().compile_count();
    check(given);
    CHECK(backend().compile_count() == count);
  }
}

}  // namespace kiln
