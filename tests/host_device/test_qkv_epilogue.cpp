// SPDX-License-Identifier: Apache-2.0

#include "tests/host_device/case_fixture.h"

#include <cstdint>
#include <string>

namespace kiln {
namespace {

VariantCase any_case(const std::string& spec) {
  VariantCase given{.spec = spec,
                    .shape = {{"batches", *rc::gen::inRange<std::int64_t>(1, 3)},
                              {"tokens", *rc::gen::element<std::int64_t>(1, 2, 5, 17)},
                              {"heads", *rc::gen::element<std::int64_t>(1, 2, 3, 17)}},
                    .offset = *CaseFixture::any_gap(),
                    .row_gap = *CaseFixture::any_gap(),
                    .batch_gap = *CaseFixture::any_gap(),
                    .seed = *rc::gen::arbitrary<unsigned>(),
                    .specials = *rc::gen::element(0U, 0U, 3U),
                    .input_scale = *rc::gen::element(0.02F, 1.0F, 1e-4F)};
  if (spec.find("streams=2") != std::string::npos) {
    given.shape.emplace_back("text_tokens", *rc::gen::element<std::int64_t>(1, 3, 8));
  }
  return given;
}

}  // namespace

TEST_SUITE("qkv_epilogue on the CPU") {
  TEST_CASE_FIXTURE(CaseFixture, "equals the reference for any tokens, heads, strides and values") {
    for (const char* spec : {
             "qkv_epilogue:head_dim=64,streams=2,recipe=eager_flux2,out=bf16+e4m3+e5m2",
             "qkv_epilogue:head_dim=128,streams=1,parts=qk,recipe=eager_flux2,rope=half_split",
             "qkv_epilogue:head_dim=256,streams=2,recipe=eager_flux2,out=bf16,bias=true,"
             "order=image_first",
             "qkv_epilogue:head_dim=64,streams=2,recipe=eager_qwen,rope=half_split,vector=2",
             "qkv_epilogue:head_dim=128,dtype=f16,streams=2,recipe=eager_qwen,out=f16+e4m3,bias="
             "true",
             "qkv_epilogue:head_dim=256,streams=1,recipe=eager_qwen,rope=half_split,out=bf16",
             "qkv_epilogue:head_dim=128,streams=2,recipe=fp32_through,out=e4m3,reciprocal=div_full",
             "qkv_epilogue:head_dim=64,streams=1,recipe=fp32_through,rope=half_split,vector=1",
             "qkv_epilogue:head_dim=256,streams=1,recipe=fp32_through",
             "qkv_epilogue:head_dim=128,streams=1,parts=qk,recipe=fp32_rope",
             "qkv_epilogue:head_dim=128,streams=2,recipe=fp32_rope,rope=half_split,vector=4",
             "qkv_epilogue:head_dim=128,streams=1,qk_norm=all,recipe=eager_flux2,out=bf16",
             "qkv_epilogue:head_dim=64,streams=2,qk_norm=all,recipe=eager_flux2,rope=half_split,"
             "bias=true",
         }) {
      check_any(spec, [&] { return any_case(spec); });
    }
  }

  TEST_CASE_FIXTURE(CaseFixture, "a merged projection's thirds are read where they lie") {
    check(
        {.spec = "qkv_epilogue:head_dim=128,streams=1,parts=qk,recipe=eager_flux2,rope=half_split",
         .shape = {{"tokens", 3},
                   {"heads", 2},
                   {"q_row_stride", 3 * 256 + 2 * 512},
                   {"k_row_stride", 3 * 256 + 2 * 512}}});
  }

  TEST_CASE_FIXTURE(CaseFixture, "what a variant cannot do is refused by the parameter's name") {
    CHECK(refusal({.spec = "qkv_epilogue:head_dim=64,recipe=fp32_rope"}).find("head_dim") !=
          std::string::npos);
    CHECK(refusal({.spec = "qkv_epilogue:head_dim=96"}).find("\"head_dim\" is 96") !=
          std::string::npos);
    CHECK(refusal({.spec = "qkv_epilogue:head_dim=128,qk_norm=all,recipe=eager_qwen"})
              .find("recipe") != std::string::npos);
  }
}

}  // namespace kiln
