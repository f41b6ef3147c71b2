// SPDX-License-Identifier: Apache-2.0
#include "templates/variant.h"
#include "tests/unit/templates_fixture.h"

#include <doctest/doctest.h>

#include <limits>

namespace kiln {
namespace {

using test::kScaleManifest;
using test::replaced;
using test::template_of;
using test::variant_of;

using Tuning = std::vector<std::pair<std::string, std::int64_t>>;

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

Variant scale(const ParameterList& given) {
  return variant_of(template_of(kScaleManifest), given);
}

Specialization specialized(const Variant& variant, ComputeCapability capability) {
  auto specialization = specialize(variant, capability);
  REQUIRE_MESSAGE(specialization.is_ok(), specialization.status().message());
  return *std::move(specialization);
}

Result<LaunchShape> shape_of(const Variant& variant,
                             const IntegerArguments& arguments,
                             int sm_count = 132) {
  return launch_shape(variant, specialized(variant, {9, 0}), arguments, sm_count);
}

}  // namespace

TEST_SUITE("Specialization") {
  TEST_CASE("the name expression spells every kind of parameter in C++") {
    CHECK(specialized(scale({{"columns", "64"}, {"out", "e5m2+bf16"}, {"fast", "true"}}), {9, 0})
              .name_expression ==
          "user::scale<64, (user::Out::bf16 | user::Out::e5m2), user::Mode::up, true, 0x3fc00000u, "
          "4, 1>");
    CHECK(specialized(scale({{"columns", "64"}, {"factor", "0"}}), {9, 0})
              .name_expression.find(", 0x00000000u, ") != std::string::npos);
    const auto bare = template_of(replaced(kScaleManifest, R"("cpp": "user::Mode",)", ""));
    CHECK(
        specialized(variant_of(bare, {{"columns", "64"}}), {9, 0}).name_expression.find(", up, ") !=
        std::string::npos);
  }

  TEST_CASE("a kernel that is no template keeps its bare name") {
    const auto plain = template_of(R"({"schema": 1, "name": "plain", "description": "d",
        "source": "plain.cuh", "entry": "plain", "instantiation": [], "parameters": [],
        "arguments": [{"name": "n", "type": "int64", "description": "d"}],
        "launch": {"block": 64, "grid": [{"over": "n", "per_block": 64}]}})");
    CHECK(specialized(variant_of(plain, {}), {5, 0}).name_expression == "plain");
    CHECK(variant_of(plain, {}).spec() == "plain");
    CHECK(shape_of(variant_of(plain, {}), {{"n", 65}})->grid[0] == 2);
  }

  TEST_CASE("for each tuning name the first rule that holds gives the value") {
    CHECK(specialized(scale({{"columns", "64"}}), {9, 0}).tuning ==
          Tuning{{"blocks_per_sm", 2}, {"threads", 512}, {"unroll", 1}});
    CHECK(specialized(scale({{"columns", "64"}}), {10, 0}).tuning ==
          Tuning{{"blocks_per_sm", 2}, {"threads", 128}, {"unroll", 1}});
    CHECK(specialized(scale({{"columns", "4096"}}), {8, 9}).tuning ==
          Tuning{{"blocks_per_sm", 2}, {"threads", 256}, {"unroll", 4}});
  }

  TEST_CASE("a tuning name that no rule sets is refused") {
    Template broken = *template_of(kScaleManifest);
    broken.manifest.tuning.pop_back();
    const auto variant =
        variant_of(std::make_shared<const Template>(broken), {{"columns", "4096"}});
    const auto status = specialize(variant, {10, 0}).status();
    CHECK(status.code() == Code::invalid_argument);
    CHECK(status.message().starts_with("template \"scale\" gives no value for \"unroll\" in "));
  }

  TEST_CASE("every target rule that applies must be met") {
    const auto fp8 = specialize(scale({{"columns", "64"}}), {8, 0}).status();
    CHECK(fp8.code() == Code::unsupported);
    CHECK(fp8.message() ==
          "scale:columns=64,out=e4m3,mode=up,fast=false,factor=1.5,vector=4 needs sm_89 or newer "
          "(FP8 conversion needs sm_89); the target has compute capability 8.0");
    const auto bf16 = scale({{"columns", "64"}, {"out", "bf16"}});
    CHECK(specialize(bf16, {8, 0}).is_ok());
    CHECK(specialize(bf16, {7, 5}).status().message().find("bf16 needs sm_80") !=
          std::string::npos);
    CHECK(specialize(scale({{"columns", "64"}}), {12, 0}).is_ok());
  }

  TEST_CASE("alignment and use of each argument follow the parameters") {
    const auto fp8 = specialized(scale({{"columns", "64"}, {"vector", "2"}}), {9, 0});
    CHECK(fp8.multiple_of == std::vector<std::int64_t>{4, 16, 8, 1, 2, 1});
    CHECK(fp8.is_used == std::vector<bool>{true, true, false, true, true, true});
    const auto bf16 =
        specialized(scale({{"columns", "64"}, {"vector", "8"}, {"out", "bf16"}}), {9, 0});
    CHECK(bf16.multiple_of == std::vector<std::int64_t>{16, 16, 8, 1, 8, 1});
    CHECK(bf16.is_used == std::vector<bool>{true, false, true, true, true, true});
  }

  TEST_CASE("the grid covers the arguments, as far as SMs and the stated maximum allow") {
    const auto variant = scale({{"columns", "64"}});
    const auto shape = shape_of(variant, {{"rows", 9}, {"stride", 65}});
    REQUIRE_MESSAGE(shape.is_ok(), shape.status().message());
    CHECK(shape->grid[0] == 3);
    CHECK(shape->grid[1] == 2);
    CHECK(shape->grid[2] == 1);
    CHECK(shape->block == 512);
    CHECK(shape->shared_bytes == 64);
    const auto large = shape_of(variant, {{"rows", 2147483647}, {"stride", kLargest}}, 10);
    REQUIRE_MESSAGE(large.is_ok(), large.status().message());
    CHECK(large->grid[0] == 20);
    CHECK(large->grid[1] == 100);
  }

  TEST_CASE("a grid beyond the driver's limit is refused where the kernel need not loop") {
    const auto source = template_of(replaced(kScaleManifest, R"(, "max": 100})", "}"));
    const auto variant = variant_of(source, {{"columns", "8"}});
    CHECK(shape_of(variant, {{"rows", 1}, {"stride", 8 * 65535}})->grid[1] == 65535);
    CHECK(shape_of(variant, {{"rows", 1}, {"stride", kLargest}}).status().message() ==
          "argument \"stride\" is 9223372036854775807; allowed: at most 524280");
  }

  TEST_CASE("arguments that are missing, unknown, repeated or out of range are refused by name") {
    const auto variant = scale({{"columns", "64"}});
    const auto refusal = [&](const IntegerArguments& arguments, int sm_count = 132) {
      const auto status = shape_of(variant, arguments, sm_count).status();
      CHECK(status.code() == Code::invalid_argument);
      return status.message();
    };
    CHECK(refusal({{"rows", 1}}) == "argument \"stride\" must be given");
    CHECK(refusal({{"rows", 0}, {"stride", 1}}) ==
          "argument \"rows\" is 0; allowed: 1 to 2147483647");
    CHECK(refusal({{"rows", 2147483648}, {"stride", 1}}) ==
          "argument \"rows\" is 2147483648; allowed: 1 to 2147483647");
    CHECK(refusal({{"rows", 1}, {"stride", -4}}) ==
          "argument \"stride\" is -4; allowed: 1 or more");
    CHECK(refusal({{"rows", 1}, {"stride", 1}, {"eps", 1}}) ==
          "template \"scale\" has no integer argument \"eps\"");
    CHECK(refusal({{"rows", 1}, {"stride", 1}, {"rows", 1}}) == "argument \"rows\" is given twice");
    CHECK(refusal({{"rows", 1}, {"stride", 1}}, 0) == "the number of SMs is 0; allowed: 1 or more");
  }

  TEST_CASE("a block that no device can run is refused") {
    const auto source =
        template_of(replaced(kScaleManifest, R"("threads": 512)", R"("threads": 2048)"));
    const auto shape =
        shape_of(variant_of(source, {{"columns", "64"}}), {{"rows", 1}, {"stride", 1}});
    CHECK(shape.status().code() == Code::invalid_argument);
    CHECK(shape.status().message() ==
          "\"threads\" is 2048 in template \"scale\"; allowed: 1 to 1024");
  }
}

}  // namespace kiln
