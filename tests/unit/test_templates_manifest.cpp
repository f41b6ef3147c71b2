// SPDX-License-Identifier: Apache-2.0
#include "templates/manifest.h"
#include "tests/unit/templates_fixture.h"

#include <doctest/doctest.h>

#include <array>

namespace kiln {
namespace {

using test::kScaleManifest;
using test::replaced;

// The message with which kScaleManifest is refused once `from` has become `to`.
std::string refusal(std::string_view from, std::string_view to) {
  const auto manifest = parse_manifest(replaced(kScaleManifest, from, to));
  REQUIRE_FALSE(manifest.is_ok());
  CHECK(manifest.status().code() == Code::invalid_argument);
  CHECK(manifest.status().message().find('\n') == std::string::npos);
  return manifest.status().message();
}

constexpr std::string_view kVector =
    R"("default": 4,
     "description": "elements of one access"})";

constexpr std::array<char, 4> kReplacements = {'"', '}', '9', '\xff'};

TEST_SUITE("Manifest") {
  TEST_CASE("every part of the format is read") {
    const auto manifest = parse_manifest(kScaleManifest);
    REQUIRE_MESSAGE(manifest.is_ok(), manifest.status().message());
    CHECK(manifest->name == "scale");
    CHECK(manifest->source == "scale.cuh");
    CHECK(manifest->entry == "user::scale");
    CHECK(manifest->instantiation.size() == 7);
    REQUIRE(manifest->parameters.size() == 6);
    const Parameter* columns = manifest->find_parameter("columns");
    REQUIRE(columns != nullptr);
    CHECK(columns->type == ParameterType::integer);
    CHECK(columns->min == 8);
    CHECK(columns->max == 4096);
    CHECK(columns->multiple_of == 8);
    CHECK_FALSE(columns->default_value.has_value());
    CHECK(manifest->find_parameter("out")->cpp == "user::Out");
    CHECK(manifest->find_parameter("mode")->relevant_when.terms.size() == 1);
    CHECK(manifest->find_parameter("fast")->default_value == "false");
    CHECK(manifest->find_parameter("factor")->default_value == "1.5");
    CHECK(manifest->find_parameter("factor")->real_max == 100);
    CHECK(manifest->find_parameter("vector")->values ==
          std::vector<std::string>{"1", "2", "4", "8"});
    CHECK(manifest->find_parameter("none") == nullptr);
    REQUIRE(manifest->constraints.size() == 1);
    CHECK(manifest->constraints[0].reason == "two accesses a thread");
    REQUIRE(manifest->least_target.size() == 2);
    CHECK(manifest->least_target[0].least == ComputeCapability{8, 9});
    REQUIRE(manifest->tuning.size() == 3);
    CHECK(manifest->tuning[1].values ==
          std::vector<std::pair<std::string, std::int64_t>>{{"threads", 128}, {"unroll", 1}});
    REQUIRE(manifest->arguments.size() == 6);
    CHECK(manifest->arguments[0].vector.text() == "vector");
    CHECK_FALSE(manifest->arguments[0].is_output);
    CHECK(manifest->arguments[1].vector.text() == "16");
    CHECK(manifest->arguments[1].is_output);
    CHECK(manifest->arguments[2].vector.text() == "1");
    CHECK(manifest->arguments[3].min == 1);
    CHECK(manifest->arguments[4].multiple_of.text() == "vector");
    CHECK(manifest->arguments[5].kind == ArgumentKind::float32);
    CHECK(manifest->launch.block.text() == "threads");
    REQUIRE(manifest->launch.grid.size() == 2);
    CHECK(manifest->launch.grid[0].per_block.text() == "4");
    CHECK(manifest->launch.grid[1].max == 100);
    CHECK(manifest->launch.shared_bytes.text() == "columns");
    CHECK_FALSE(manifest->spills.has_value());
  }

  TEST_CASE("an unknown member is refused by its name, wherever it stands") {
    CHECK(refusal(R"("schema": 1)", R"("schema": 1, "scheme": 1)")
              .starts_with("unknown member \"scheme\"; known: allow_spills, arguments, "));
    CHECK(refusal(R"("min": 8)", R"("minimum": 8)")
              .starts_with("parameters: [0]: unknown member \"minimum\"; known: default, "));
    CHECK(refusal(R"("default": false)", R"("default": false, "min": 0)")
              .starts_with("parameters: [3]: unknown member \"min\""));
    CHECK(refusal(R"("when": {"vector": 8})", R"("if": {"vector": 8})")
              .starts_with("constraints: [0]: unknown member \"if\""));
    CHECK(refusal(R"("name": "eps")", R"("name": "eps", "min": 1)")
              .starts_with("arguments: [5]: unknown member \"min\""));
    CHECK(refusal(R"("max": 100})", R"("most": 100})")
              .starts_with("launch: grid: [1]: unknown member \"most\""));
    CHECK(refusal(R"({"multiple_of": 16})", R"({"multiple": 16})")
              .starts_with("constraints: [0]: require: columns: unknown member \"multiple\""));
  }

  TEST_CASE("a missing, repeated or mistyped member is refused by its name") {
    CHECK(refusal(R"("entry": "user::scale",)", "") == "member \"entry\" is missing");
    CHECK(refusal(R"("dtype": "i64", )", "") == "arguments: [2]: member \"dtype\" is missing");
    CHECK(refusal(R"("schema": 1)", R"("schema": 2)") == "schema is 2; allowed: 1");
    CHECK(refusal(R"("schema": 1)", R"("schema": "1")") == "schema: must be an integer of 64 bits");
    CHECK(refusal(R"("schema": 1)", R"("schema": 1, "schema": 1)") ==
          "member \"schema\" is given twice");
    CHECK(refusal(R"("max": 4096)", R"("max": 4096.0)") ==
          "parameters: [0]: max: must be an integer of 64 bits");
    CHECK(refusal(R"("max": 4096)", R"("max": 18446744073709551615)") ==
          "parameters: [0]: max: must be an integer of 64 bits");
    CHECK(refusal(R"("output": true)", R"("output": 1)") ==
          "arguments: [1]: output: must be true or false");
    CHECK(refusal(R"("type": "boolean")", R"("type": "bool")") ==
          "parameters: [3]: type is \"bool\"; allowed: integer, real, boolean, choice, set");
    CHECK(refusal(R"("target": "8.0")", R"("target": 8.0)") ==
          "least_target: [1]: target: must be a string");
    CHECK(refusal(R"("target": "8.0")", R"("target": "8.00")") ==
          "least_target: [1]: target: \"8.00\" is no compute capability such as \"8.9\"");
    CHECK(refusal("Multiplies rows", R"(two\nlines)") ==
          "description: \"two\\nlines\" has a control character");
  }

  TEST_CASE("text that is not JSON is refused with the place") {
    CHECK(parse_manifest("").status().message() == "not valid JSON at line 1, column 1");
    CHECK(parse_manifest("{\n  \"a\": ,").status().message() ==
          "not valid JSON at line 2, column 8");
    CHECK(parse_manifest("[1, 2]").status().message() == "must be an object");
    CHECK(parse_manifest(std::string(100000, '[')).status().message() ==
          "nested deeper than 16 levels");
    CHECK_FALSE(parse_manifest(std::string(kScaleManifest) + "{}").is_ok());
  }

  TEST_CASE("names must be plain") {
    CHECK_FALSE(refusal(R"("name": "scale")", R"("name": "Scale")").empty());
    CHECK_FALSE(refusal(R"("name": "scale")", R"("name": "../scale")").empty());
    CHECK_FALSE(refusal(R"("name": "scale")", R"("name": "a\u0000b")").empty());
    const std::string longest(64, 'a');
    CHECK(parse_manifest(
              replaced(kScaleManifest, R"("name": "scale")", R"("name": ")" + longest + '"'))
              .is_ok());
    CHECK_FALSE(refusal(R"("name": "scale")", R"("name": "a)" + longest + '"').empty());
    CHECK(refusal("scale.cuh", "../scale.cuh").starts_with("source \"../scale.cuh\" must be"));
    CHECK(refusal("scale.cuh", "/scale.cuh").starts_with("source "));
    CHECK(refusal("scale.cuh", ".cuh").starts_with("source "));
    CHECK(refusal("user::scale", "user::scale<1>").starts_with("entry "));
    CHECK(refusal(R"("name": "fast")", R"("name": "target")").starts_with("parameter \"target\""));
    CHECK(refusal(R"("name": "fast")", R"("name": "mode")") ==
          "parameter \"mode\": the name is given twice");
    CHECK(refusal(R"("name": "eps")", R"("name": "rows")") ==
          "argument \"rows\": the name is given twice");
  }

  TEST_CASE("every name must refer to something") {
    CHECK(refusal(R"("vector", "unroll"])", R"("vector", "unrol"])") ==
          "instantiation: \"unrol\" is no parameter and no tuning name");
    CHECK(refusal(R"("when": {"vector": 8})", R"("when": {"vectors": 8})") ==
          "constraints: when: no parameter \"vectors\" is known here; known: columns, out, mode, "
          "fast, factor, vector");
    CHECK(refusal(R"("multiple_of": "vector")", R"("multiple_of": "threads")") ==
          "argument \"stride\": multiple_of: \"threads\" is no integer parameter");
    CHECK(refusal(R"("block": "threads")", R"("block": "thread")") ==
          "launch: block: \"thread\" is no integer parameter and no tuning name");
    CHECK(refusal(R"("block": "threads")", R"("block": "mode")") ==
          "launch: block: \"mode\" is no integer parameter and no tuning name");
    CHECK(refusal(R"("over": "stride")", R"("over": "eps")") ==
          "launch: grid: [1]: over: \"eps\" is no integer argument");
    CHECK(refusal(R"("used_when": {"out": "bf16"})", R"("used_when": {"out": "f16"})") ==
          "argument \"sums\": used_when: condition on \"out\": parameter \"out\" is \"f16\"; "
          "allowed: bf16, e4m3, e5m2 (joined by +)");
    CHECK(refusal(R"("dtype": "i64")", R"("dtype": "i65")") ==
          "argument \"sums\": dtype is \"i65\"; allowed: bf16, f16, f32, e4m3, e5m2, u8, i32, i64, "
          "or a choice of these");
  }

  TEST_CASE("spills are allowed everywhere, nowhere or where a condition holds") {
    const auto spills = [](std::string_view value) {
      return parse_manifest(replaced(kScaleManifest, R"("allow_spills": false)",
                                     fmt::format(R"("allow_spills": {})", value)))
          ->spills;
    };
    CHECK(spills("true")->terms.empty());
    CHECK_FALSE(spills("false").has_value());
    CHECK(spills(R"({"columns": {"min": 1024}})")->terms.size() == 1);
    CHECK(refusal(R"("allow_spills": false)", R"("allow_spills": {"rows": 1})")
              .starts_with("allow_spills: no parameter \"rows\""));
    CHECK(refusal(R"("allow_spills": false)", R"("allow_spills": 1)") ==
          "allow_spills: must be true or false");
  }

  TEST_CASE("a tuning name must be used, and set whatever the variant") {
    CHECK(refusal(R"("threads": 256, )", "") ==
          "tuning name \"threads\" is not set by a rule without condition");
    CHECK(refusal(R"("threads": 256, )", R"("threads": 256, "thread": 1, )") ==
          "tuning name \"thread\" is used by nothing");
    CHECK(refusal(R"("threads": 256, )", R"("threads": 256, "fast": 1, )") ==
          "tuning name \"fast\" is a parameter's name");
    CHECK(refusal(R"("threads": 256, )", R"("threads": 0, )") ==
          "launch: block: threads can be 0; allowed: 1 or more");
  }

  TEST_CASE("a condition must be one that can be evaluated") {
    CHECK(refusal(R"("relevant_when": {"out": ["e4m3", "e5m2"]})",
                  R"("relevant_when": {"fast": true})")
              .starts_with("parameter \"mode\": relevant_when: no parameter \"fast\""));
    CHECK(refusal(R"("relevant_when": {"out": ["e4m3", "e5m2"]})",
                  R"("relevant_when": {"target": {"min": "9.0"}})")
              .find("allowed in tuning only") != std::string::npos);
    CHECK(refusal(R"("default": "up", )", "") ==
          "parameter \"mode\": has a relevant_when, so it must have a default");
    CHECK(refusal(R"("when": {"vector": 8})", R"("when": {"vector": 3})")
              .find("parameter \"vector\" is 3; allowed: 1, 2, 4, 8") != std::string::npos);
    CHECK(refusal(R"("when": {"vector": 8})", R"("when": {"mode": {"min": 1}})")
              .find("bounds need an integer parameter") != std::string::npos);
    CHECK(refusal(R"("when": {"vector": 8})", R"("when": {"vector": []})").find("lists no value") !=
          std::string::npos);
    CHECK(
        refusal(R"("when": {"vector": 8})", R"("when": {"vector": {}})").find("states no bound") !=
        std::string::npos);
    CHECK(refusal(R"({"min": "9.0", "max": "9.0"})", R"({"min": "9.0", "max": "8.9"})")
              .find("\"min\" is above \"max\"") != std::string::npos);
    CHECK(refusal(R"({"columns": {"multiple_of": 16}})", "{}") ==
          "constraints: require: asks for nothing");
  }

  TEST_CASE("a parameter's range must make sense, and its default lie in it") {
    CHECK(refusal(R"("min": 8, "max": 4096)", R"("min": 8, "max": 4)") ==
          "parameter \"columns\": \"min\" is above \"max\"");
    CHECK(refusal(R"("multiple_of": 8)", R"("multiple_of": 0)") ==
          "parameters: [0]: \"multiple_of\" is 0; allowed: 1 or more");
    CHECK(refusal(R"([1, 2, 4, 8])", R"([1, 2, 4, 8, 2])") ==
          "parameter \"vector\": value \"2\" is given twice");
    CHECK(refusal(R"([1, 2, 4, 8])", "[]") == "parameters: [5]: values: lists no value");
    CHECK(refusal(R"([1, 2, 4, 8])", R"([1, 2, 4, 8], "min": 1)") ==
          "parameter \"vector\": has both values and bounds");
    CHECK(refusal(kVector, R"("default": 3, "description": "d"})") ==
          "parameters: [5]: default: parameter \"vector\" is 3; allowed: 1, 2, 4, 8");
    CHECK(refusal(kVector, R"("default": "4", "description": "d"})") ==
          "parameters: [5]: default: is not of the parameter's type");
    CHECK(refusal(R"(["up", "down"])", R"(["up", "do wn"])") ==
          "parameter \"mode\": value \"do wn\" is no identifier");
    CHECK(refusal(R"("cpp": "user::Mode")", R"("cpp": "user::")").find("no qualified C++ name") !=
          std::string::npos);
    CHECK(refusal(R"([1, 2, 4, 8])", R"([0, 2, 4, 8])") ==
          "argument \"x\": vector: vector can be 0; allowed: 1 or more");
  }

  TEST_CASE("a launch rule must fit the driver's limits") {
    CHECK(refusal(R"("max": 100})", R"("max": 65536})") ==
          "launch: grid: [1]: max is 65536; allowed: 1 to 65535");
    CHECK(refusal(R"("max": 100})", R"("max": 0})") ==
          "launch: grid: [1]: \"max\" is 0; allowed: 1 or more");
    CHECK(refusal(R"("per_block": 4)", R"("per_block": 0)") ==
          "launch: grid: [0]: per_block: 0 can be 0; allowed: 1 or more");
    CHECK(refusal(R"("per_block": 4)", R"("per_block": "4-1")") ==
          "launch: grid: [0]: per_block: \"4-1\" is no extent such as \"rows\", \"2*columns\" or "
          "\"rows*columns/16\"");
    CHECK(refusal(R"("shared_bytes": "columns")", R"("shared_bytes": -1)") ==
          "launch: shared_bytes: -1 can be -1; allowed: 0 or more");
  }

  TEST_CASE("a manifest with any byte deleted or replaced is read or refused in one short line") {
    int refused = 0;
    const auto check = [&](const std::string& text) {
      const auto manifest = parse_manifest(text);
      if (manifest.is_ok()) return;
      ++refused;
      const std::string& message = manifest.status().message();
      if (message.empty() || message.size() > 600 || message.find('\n') != std::string::npos) {
        FAIL_CHECK(message);
      }
    };
    for (std::size_t i = 0; i < kScaleManifest.size(); ++i) {
      std::string text(kScaleManifest);
      for (char replacement : kReplacements) {
        text[i] = replacement;
        check(text);
      }
      check(text.erase(i, 1));
      check(std::string(kScaleManifest.substr(0, i)));
    }
    CHECK(refused > 5000);
  }
}

}  // namespace
}  // namespace kiln
