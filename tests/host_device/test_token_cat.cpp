// SPDX-License-Identifier: Apache-2.0

#include "tests/host_device/case_fixture.h"

#include <cstdint>
#include <string>

namespace kiln {
namespace {

// Widths in units that every access of the variant divides.
VariantCase any_case(const std::string& spec, std::int64_t unit) {
  const bool is_static_quant = spec.starts_with("static_quant");
  VariantCase given{.spec = spec,
                    .shape = {{"batches", *rc::gen::inRange<std::int64_t>(1, 4)},
                              {"rows", *rc::gen::element<std::int64_t>(1, 2, 5, 127, 129)}},
                    .offset = *CaseFixture::any_gap(),
                    .row_gap = *CaseFixture::any_gap(),
                    .batch_gap = *CaseFixture::any_gap(),
                    .seed = *rc::gen::arbitrary<unsigned>(),
                    .specials = *rc::gen::element(0U, 5U, 300U),
                    .input_scale = *rc::gen::element(0.02F, 1.0F, 1e-4F, 1e-40F)};
  const auto width = [&] { return unit * *rc::gen::inRange<std::int64_t>(1, 20); };
  if (is_static_quant) {
    given.shape.emplace_back("columns", width());
    return given;
  }
  given.shape.emplace_back("mlp_width", width());
  if (spec.find("attention=false") == std::string::npos) {
    given.shape.emplace_back("attention_width", width());
  }
  return given;
}

}  // namespace

TEST_SUITE("token_cat on the CPU") {
  TEST_CASE_FIXTURE(CaseFixture, "equals the reference for any widths, strides and values") {
    const struct {
      const char* spec;
      std::int64_t unit;
    } forms[] = {
        {"token_cat:out=bf16+e4m3+e5m2", 8},
        {"token_cat:out=e4m3,vector=1,reciprocal=div_full", 1},
        {"token_cat:dtype=f16,out=f16+e4m3,vector=4", 4},
        {"token_cat:out=nvfp4", 16},
        {"token_cat:out=nvfp4+bf16,vector=4", 16},
        {"swiglu_token_cat:out=bf16+e4m3", 8},
        {"swiglu_token_cat:dtype=f16,out=f16+e5m2,bias=true,vector=2", 2},
        {"swiglu_token_cat:attention=false,out=e4m3,vector=1,bias=true", 1},
        {"gelu_tanh_token_cat:out=bf16+e4m3", 8},
        {"gelu_tanh_token_cat:dtype=f16,attention=false,out=f16,bias=true,vector=4", 4},
        {"static_quant:out=e4m3+e5m2", 8},
        {"static_quant:dtype=f16,out=e4m3,vector=1,reciprocal=div_full", 1},
    };
    for (const auto& form : forms)
      check_any(form.spec, [&] { return any_case(form.spec, form.unit); });
  }

  TEST_CASE_FIXTURE(CaseFixture, "rows wider than a block, and every 16-bit value") {
    for (const char* dtype : {"bf16", "f16"}) {
      check({.spec = fmt::format("static_quant:dtype={},out=e4m3+e5m2", dtype),
             .shape = {{"rows", 2}, {"columns", 40000}},
             .specials = 50});
      check({.spec = fmt::format("swiglu_token_cat:dtype={0},out={0}+e4m3", dtype),
             .shape = {{"rows", 2}, {"attention_width", 9000}, {"mlp_width", 20000}},
             .specials = 50});
    }
  }

  TEST_CASE_FIXTURE(CaseFixture, "what a variant cannot do is refused by the argument's name") {
    CHECK(refusal({.spec = "token_cat", .shape = {{"attention_width", 12}, {"mlp_width", 8}}})
              .find("\"attention_width\" is 12") != std::string::npos);
    CHECK(refusal({.spec = "token_cat", .shape = {{"attention_width", 8}, {"mlp_width", 0}}})
              .find("\"mlp_width\" is 0") != std::string::npos);
    CHECK(refusal({.spec = "static_quant:out=bf16"}).find("\"out\" is") != std::string::npos);
  }
}

}  // namespace kiln
