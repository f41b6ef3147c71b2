// SPDX-License-Identifier: Apache-2.0
#include "templates/extent.h"
#include "templates/tensor.h"

#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <string>

namespace kiln {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

Result<std::int64_t> evaluate(const std::string& text,
                              const std::map<std::string, std::int64_t>& values) {
  KILN_TRY_ASSIGN(const Extent extent, Extent::parse(text));
  return extent.evaluate([&](std::string_view name) -> Result<std::int64_t> {
    const auto found = values.find(std::string(name));
    if (found != values.end()) return found->second;
    return failure(Code::invalid_argument, "no {}", name);
  });
}

IntegerArguments complete(const std::string& spec, const IntegerArguments& given) {
  const auto catalog = Catalog::open({});
  const auto variant = Variant::parse(*catalog, spec);
  REQUIRE_MESSAGE(variant.is_ok(), variant.status().message());
  const auto arguments = complete_arguments(*variant, given);
  REQUIRE_MESSAGE(arguments.is_ok(), arguments.status().message());
  return *arguments;
}

std::int64_t value_of(const IntegerArguments& arguments, const std::string& name) {
  for (const auto& [known, value] : arguments) {
    if (known == name) return value;
  }
  FAIL_CHECK(name);
  return -1;
}

}  // namespace

TEST_SUITE("Extent") {
  TEST_CASE("sums of products, the whole divided and rounded up") {
    CHECK(*evaluate("7", {}) == 7);
    CHECK(*evaluate("rows", {{"rows", 5}}) == 5);
    CHECK(*evaluate("2*width", {{"width", 9}}) == 18);
    CHECK(*evaluate("a*b/128", {{"a", 3}, {"b", 100}}) == 3);
    CHECK(*evaluate("a+b/64", {{"a", 64}, {"b", 1}}) == 2);
    CHECK(*evaluate("a*b+a*c", {{"a", 2}, {"b", 3}, {"c", 0}}) == 6);
    CHECK(*evaluate("a*b", {{"a", kLargest}, {"b", 2}}) == kLargest);
    CHECK(*evaluate("a+b", {{"a", kLargest}, {"b", 2}}) == kLargest);
    CHECK(evaluate("a*b", {{"a", 1}}).status().message() == "no b");
  }

  TEST_CASE("what is no extent is refused with its text") {
    for (const char* text : {"", "+", "a+", "*a", "a**b", "a/0", "a/-1", "a/b", "a/2/2", "-1", "A",
                             "a b", "a-1", "1.5", "(a)"}) {
      CAPTURE(text);
      const auto extent = Extent::parse(text);
      REQUIRE_FALSE(extent.is_ok());
      CHECK(extent.status().code() == Code::invalid_argument);
    }
  }
}

TEST_SUITE("TensorLayout") {
  TEST_CASE("strides that are not given make tensors dense, behind those that are") {
    const auto arguments = complete("layernorm_modulate:hidden=64,out=bf16+e4m3",
                                    {{"batches", 3}, {"rows", 5}, {"x_row_stride", 100}});
    CHECK(value_of(arguments, "x_row_stride") == 100);
    CHECK(value_of(arguments, "x_batch_stride") == 500);
    CHECK(value_of(arguments, "out_row_stride") == 64);
    CHECK(value_of(arguments, "out_batch_stride") == 320);
    CHECK(value_of(arguments, "scale_stride") == 64);
  }

  TEST_CASE("a stride that only a packed output has is in elements") {
    const auto arguments =
        complete("layernorm_modulate:hidden=64,out=nvfp4", {{"batches", 2}, {"rows", 3}});
    CHECK(value_of(arguments, "out_row_stride") == 64);
    CHECK(value_of(arguments, "out_batch_stride") == 192);
  }

  TEST_CASE("what a variant does not use is 0, what nobody says is the example") {
    const auto arguments = complete("swiglu_token_cat:attention=false", {{"rows", 7}});
    CHECK(value_of(arguments, "attention_width") == 0);
    CHECK(value_of(arguments, "attention_row_stride") == 0);
    CHECK(value_of(arguments, "batches") == 1);
    CHECK(value_of(arguments, "mlp_width") > 0);
  }

  TEST_CASE("layouts give shape, strides and span, gaps included") {
    const auto catalog = Catalog::open({});
    const auto variant = Variant::parse(*catalog, "layernorm_modulate:hidden=64,out=nvfp4");
    const auto arguments =
        complete_arguments(*variant, {{"batches", 2}, {"rows", 130}, {"x_row_stride", 72}});
    const auto layouts = tensor_layouts(*variant, *arguments);
    REQUIRE_MESSAGE(layouts.is_ok(), layouts.status().message());
    CHECK(layouts->front().name == "x");
    CHECK(layouts->front().element_count() == 2 * 130 * 64);
    CHECK(layouts->front().span() == 259 * 72 + 64);
    const TensorLayout& scales = layouts->back();
    CHECK(scales.name == "out_nvfp4_scales");
    CHECK(scales.is_output);
    CHECK(scales.element_count() == 3 * 512);
    const auto unknown = complete_arguments(*variant, {{"columns", 1}});
    CHECK(unknown.status().message() ==
          "template \"layernorm_modulate\" has no integer argument \"columns\"");
  }
}

}  // namespace kiln
