// SPDX-License-Identifier: Apache-2.0
#include "templates/condition.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace kiln {
namespace {

Condition condition_of(const char* text) {
  auto condition = parse_condition(nlohmann::json::parse(text));
  REQUIRE_MESSAGE(condition.is_ok(), condition.status().message());
  return *std::move(condition);
}

const ParameterList kParameters = {{"hidden", "4096"},
                                   {"out", "bf16+e4m3"},
                                   {"fast", "true"},
                                   {"eps", "1e-06"},
                                   {"big", "1e+06"}};

bool holds(const char* text) {
  return condition_of(text).holds(kParameters);
}

}  // namespace

TEST_SUITE("Condition") {
  TEST_CASE("no members always hold") {
    CHECK(holds("{}"));
    CHECK(condition_of("{}").text().empty());
  }

  TEST_CASE("all members must hold, and any value of a list") {
    CHECK(holds(R"({"hidden": 4096})"));
    CHECK(holds(R"({"hidden": [1, 4096]})"));
    CHECK_FALSE(holds(R"({"hidden": [1, 2]})"));
    CHECK(holds(R"({"fast": true, "hidden": {"min": 4096, "max": 4096}})"));
    CHECK_FALSE(holds(R"({"fast": false, "hidden": 4096})"));
    CHECK(holds(R"({"eps": 1e-6})"));
    CHECK(holds(R"({"big": 1e6})"));
    CHECK_FALSE(holds(R"({"none": 1})"));
  }

  TEST_CASE("a set holds if it contains any of the values") {
    CHECK(holds(R"({"out": "bf16"})"));
    CHECK(holds(R"({"out": ["e5m2", "e4m3"]})"));
    CHECK_FALSE(holds(R"({"out": ["e5m2"]})"));
    CHECK_FALSE(holds(R"({"out": "bf1"})"));
  }

  TEST_CASE("bounds are inclusive") {
    CHECK(holds(R"({"hidden": {"min": 4096}})"));
    CHECK_FALSE(holds(R"({"hidden": {"min": 4097}})"));
    CHECK(holds(R"({"hidden": {"max": 4096}})"));
    CHECK_FALSE(holds(R"({"hidden": {"max": 4095}})"));
    CHECK(holds(R"({"hidden": {"multiple_of": 1024}})"));
    CHECK_FALSE(holds(R"({"hidden": {"multiple_of": 1000}})"));
  }

  TEST_CASE("a target is compared as a version, and nothing holds without one") {
    const Condition at_least = condition_of(R"({"target": {"min": "9.0"}})");
    CHECK_FALSE(at_least.holds({}));
    CHECK_FALSE(at_least.holds({}, ComputeCapability{8, 9}));
    CHECK(at_least.holds({}, ComputeCapability{9, 0}));
    CHECK(at_least.holds({}, ComputeCapability{10, 0}));
    const Condition at_most = condition_of(R"({"target": {"max": "9.0"}})");
    CHECK(at_most.holds({}, ComputeCapability{8, 9}));
    CHECK_FALSE(at_most.holds({}, ComputeCapability{10, 3}));
    const Condition listed = condition_of(R"({"target": ["8.9", "12.0"]})");
    CHECK(listed.holds({}, ComputeCapability{12, 0}));
    CHECK_FALSE(listed.holds({}, ComputeCapability{12, 1}));
  }

  TEST_CASE("the text reads as a sentence") {
    CHECK(condition_of(R"({"hidden": {"multiple_of": 8}, "out": ["e4m3", "e5m2"]})").text() ==
          "hidden a multiple of 8 and out e4m3 or e5m2");
    CHECK(condition_of(R"({"hidden": {"max": 4096, "multiple_of": 8}})").text() ==
          "hidden a multiple of 8 at most 4096");
    CHECK(condition_of(R"({"hidden": {"min": 1, "max": 2}})").text() == "hidden from 1 to 2");
    CHECK(condition_of(R"({"target": {"min": "9.0"}})").text() == "target at least 9.0");
  }

  TEST_CASE("a malformed condition is refused with the member's name") {
    const auto refusal = [](const char* text) {
      const auto status = parse_condition(nlohmann::json::parse(text)).status();
      CHECK(status.code() == Code::invalid_argument);
      return status.message();
    };
    CHECK(refusal("[]") == "must be an object");
    CHECK(refusal(R"({"Hidden": 1})") == "\"Hidden\" is no parameter name");
    CHECK(refusal(R"({"hidden": null})") == "hidden: must be text, a number, true or false");
    CHECK(refusal(R"({"hidden": [[1]]})") == "hidden: [0]: must be text, a number, true or false");
    CHECK(refusal(R"({"hidden": {"min": "1"}})") == "hidden: min: must be an integer of 64 bits");
    CHECK(refusal(R"({"hidden": {"min": 2, "max": 1}})") == "hidden: \"min\" is above \"max\"");
    CHECK(refusal(R"({"hidden": {"multiple_of": 0}})") ==
          "hidden: \"multiple_of\" is 0; allowed: 1 or more");
    CHECK(refusal(R"({"target": 9.0})").starts_with("target: \"9\" is no compute capability"));
    CHECK(refusal(R"({"target": {"multiple_of": 2}})")
              .starts_with("target: unknown member \"multiple_of\""));
  }
}

}  // namespace kiln
