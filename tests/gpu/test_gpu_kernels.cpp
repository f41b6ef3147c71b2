// SPDX-License-Identifier: Apache-2.0
// Every template on the device against its reference kernel: access widths, strides, batches,
// extreme values, and that nothing outside the outputs is written. Full production shapes and
// PyTorch are compare_with_torch.py's.
#include "tests/gpu/fixture.h"
#include "tests/host_device/gpu_backend.h"
#include "tests/host_device/variant_case.h"

#include <array>

namespace kiln {
namespace {

class KernelFixture {
 public:
  KernelFixture() : backend_(GpuBackend::create(environment())), catalog_(Catalog::open({})) {
    REQUIRE_OK(backend_.status());
    REQUIRE_OK(catalog_.status());
  }

  // Runs what was added; compiling goes first, since it can use all cores.
  void run_all() {
    std::vector<Variant> variants;
    for (const VariantCase& given : cases_) {
      const auto variant = Variant::parse(*catalog_, given.spec);
      REQUIRE_OK(variant.status());
      variants.push_back(*variant);
      const auto reference = reference_of(*catalog_, *variant);
      REQUIRE_OK(reference.status());
      variants.push_back(*reference);
    }
    (*backend_)->warm(variants);
    for (const VariantCase& given : cases_)
      run(given);
  }

  void check(const VariantCase& given) { cases_.push_back(given); }

  // Aligned and dense; with gaps and shifted pointers; with extreme values.
  void check_all(const std::string& spec, const IntegerArguments& shape) {
    check({.spec = spec, .shape = shape});
    check({.spec = spec,
           .shape = shape,
           .offset = 1,
           .row_gap = 1,
           .batch_gap = 3,
           .seed = 2,
           .specials = 3});
    check({.spec = spec, .shape = shape, .row_gap = 2, .seed = 3, .specials = 200});
  }

 private:
  void run(const VariantCase& given) {
    INFO(given.text());
    const auto result = run_case(**backend_, *catalog_, given);
    REQUIRE_OK(result.status());
    CHECK_MESSAGE(result->mismatches == 0, result->first_mismatch);
    CHECK(result->compared > 0);
    CHECK(result->is_rest_untouched);
  }

  Environment environment() const {
    Environment environment;
    environment.cache_dir = directory_.path();
    return environment;
  }

  test::TemporaryDirectory directory_;
  Result<std::unique_ptr<GpuBackend>> backend_;
  Result<Catalog> catalog_;
  std::vector<VariantCase> cases_;
};

}  // namespace

TEST_SUITE("kernels") {
  TEST_CASE_FIXTURE(KernelFixture, "layernorm_modulate") {
    const std::array outs = {
        "bf16+e4m3+e5m2",  "e4m3,reciprocal=div_full",         "f16+e4m3,dtype=f16",
        "bf16,recipe=wan", "e5m2,recipe=wan_affine,bias=true", "nvfp4+bf16"};
    for (const char* out : outs) {
      for (const int hidden : {16, 2240, 3072, 6144}) {
        for (const int vector : {1, 2, 4}) {
          if (vector == 1 && out == std::string("nvfp4+bf16")) continue;
          check_all(
              fmt::format("layernorm_modulate:hidden={},vector={},out={}", hidden, vector, out),
              {{"batches", 2}, {"rows", hidden < 100 ? 1200 : 33}});
        }
      }
    }
    check_all("layernorm_modulate:hidden=4,out=bf16+e4m3", {{"batches", 3}, {"rows", 5}});
    check_all("layernorm_modulate:hidden=16384", {{"batches", 1}, {"rows", 65}});
    run_all();
  }

  TEST_CASE_FIXTURE(KernelFixture, "gated_residual_layernorm_modulate") {
    const std::array outs = {"residual+bf16+e4m3",
                             "residual,bias=true",
                             "residual+f16+e4m3,dtype=f16,clip=true",
                             "residual+bf16,recipe=wan",
                             "residual+e4m3,recipe=wan_affine",
                             "residual+nvfp4"};
    for (const char* out : outs) {
      for (const int hidden : {16, 2240, 3072, 6144}) {
        for (const int vector : {2, 4}) {
          check_all(fmt::format("gated_residual_layernorm_modulate:hidden={},vector={},out={}",
                                hidden, vector, out),
                    {{"batches", 2}, {"rows", hidden < 100 ? 1200 : 33}});
        }
      }
    }
    check({.spec = "gated_residual_layernorm_modulate:hidden=3072",
           .shape = {{"rows", 900}},
           .aliases = {{"out_residual", "residual"}}});
    run_all();
  }

  TEST_CASE_FIXTURE(KernelFixture, "rmsnorm_modulate") {
    for (const int hidden : {36, 3840, 5120}) {
      for (const int vector : {1, 4}) {
        check_all(fmt::format("rmsnorm_modulate:hidden={},vector={},out=bf16+e4m3", hidden, vector),
                  {{"batches", 2}, {"rows", 33}});
        check_all(fmt::format("gated_residual_rmsnorm_modulate:hidden={},vector={},out=residual+"
                              "e4m3+bf16",
                              hidden, vector),
                  {{"batches", 2}, {"rows", 33}});
      }
    }
    check_all("gated_residual_rmsnorm_modulate:hidden=260,dtype=f16,out=residual+e4m3,clip=true",
              {{"batches", 2}, {"rows", 99}});
    run_all();
  }

  TEST_CASE_FIXTURE(KernelFixture, "token_cat") {
    for (const char* name : {"token_cat", "swiglu_token_cat", "gelu_tanh_token_cat"}) {
      for (const int vector : {1, 8}) {
        const IntegerArguments shape = {
            {"batches", 2}, {"rows", 17}, {"attention_width", 3072}, {"mlp_width", 9216 + 16}};
        check_all(fmt::format("{}:vector={},out=bf16+e4m3+e5m2", name, vector), shape);
        check_all(fmt::format("{}:vector={},dtype=f16,out=f16+e4m3", name, vector), shape);
      }
    }
    check_all("token_cat:out=nvfp4",
              {{"batches", 2}, {"rows", 17}, {"attention_width", 3072}, {"mlp_width", 9216 + 16}});
    check_all("swiglu_token_cat:attention=false,out=e4m3,bias=true",
              {{"batches", 2}, {"rows", 17}, {"mlp_width", 9216}});
    check_all("gelu_tanh_token_cat:attention=false,out=bf16+e4m3,bias=true",
              {{"batches", 2}, {"rows", 17}, {"mlp_width", 9216}});
    for (const int vector : {1, 2, 4, 8}) {
      check_all(fmt::format("static_quant:vector={},out=e4m3+e5m2", vector),
                {{"batches", 2}, {"rows", 5}, {"columns", 8248}});
    }
    run_all();
  }

  TEST_CASE_FIXTURE(KernelFixture, "qkv_epilogue") {
    const IntegerArguments one = {{"batches", 2}, {"tokens", 65}, {"heads", 24}};
    const IntegerArguments two = {
        {"batches", 2}, {"tokens", 65}, {"text_tokens", 9}, {"heads", 24}};
    for (const int head_dim : {64, 128, 256}) {
      for (const char* recipe : {"eager_flux2", "eager_qwen", "fp32_through", "fp32_rope"}) {
        if (recipe == std::string("fp32_rope") && head_dim != 128) continue;
        for (const char* rope : {"interleaved", "half_split"}) {
          const std::string spec =
              fmt::format("qkv_epilogue:head_dim={},recipe={},rope={}", head_dim, recipe, rope);
          check_all(spec + ",streams=2,out=bf16+e4m3", two);
          check_all(spec + ",streams=1,parts=qk,vector=1", one);
        }
      }
    }
    check_all(
        "qkv_epilogue:head_dim=128,streams=2,order=image_first,dtype=f16,out=f16+e5m2,bias=true",
        two);
    check_all("qkv_epilogue:head_dim=128,streams=2,out=e4m3,reciprocal=div_full", two);
    check_all("qkv_epilogue:head_dim=128,streams=1,qk_norm=all", one);
    check_all("qkv_epilogue:head_dim=64,streams=2,qk_norm=all,rope=half_split,out=bf16+e4m3", two);
    run_all();
  }
}

}  // namespace kiln
