// SPDX-License-Identifier: Apache-2.0

#include "tests/host_device/case_fixture.h"

#include <cstdint>
#include <string>

namespace kiln {
namespace {

VariantCase any_case(const std::string& spec) {
  return {.spec = spec,
          .shape = {{"batches", *rc::gen::inRange<std::int64_t>(1, 4)},
                    {"rows", *CaseFixture::any_rows()}},
          .offset = *CaseFixture::any_gap(),
          .row_gap = *CaseFixture::any_gap(),
          .batch_gap = *CaseFixture::any_gap(),
          .seed = *rc::gen::arbitrary<unsigned>(),
          .specials = *rc::gen::element(0U, 0U, 2U, 100U),
          .eps = 1e-5F,
          .input_scale = *rc::gen::element(0.02F, 1.0F, 1e-4F)};
}

}  // namespace

TEST_SUITE("rmsnorm_modulate on the CPU") {
  TEST_CASE_FIXTURE(CaseFixture, "equals the reference for any rows, strides and values") {
    for (const char* spec : {
             "rmsnorm_modulate:hidden=36,out=bf16+e4m3+e5m2",
             "rmsnorm_modulate:hidden=516,out=e4m3,vector=1,reciprocal=div_full",
             "rmsnorm_modulate:hidden=260,dtype=f16,out=f16+e5m2,vector=2,bias=true",
             "gated_residual_rmsnorm_modulate:hidden=132,out=residual+bf16+e4m3+e5m2",
             "gated_residual_rmsnorm_modulate:hidden=68,out=residual,vector=1",
             "gated_residual_rmsnorm_modulate:hidden=260,dtype=f16,out=residual+e4m3,clip=true,"
             "bias=true",
         }) {
      check_any(spec, [&] { return any_case(spec); });
    }
  }

  TEST_CASE_FIXTURE(CaseFixture, "any width") {
    for (const int hidden : {4, 512, 3840, 16384}) {
      check({.spec = fmt::format("rmsnorm_modulate:hidden={},out=bf16+e4m3", hidden),
             .shape = {{"rows", 3}}});
    }
    check({.spec = "gated_residual_rmsnorm_modulate:hidden=3840", .shape = {{"rows", 3}}});
  }

  TEST_CASE_FIXTURE(CaseFixture, "the sum may be written over the residual") {
    check({.spec = "gated_residual_rmsnorm_modulate:hidden=132,out=residual+bf16+e4m3+e5m2",
           .shape = {{"batches", 2}, {"rows", 7}},
           .row_gap = 1,
           .aliases = {{"out_residual", "residual"}}});
  }
}

}  // namespace kiln
