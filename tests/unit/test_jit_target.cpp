// SPDX-License-Identifier: Apache-2.0
#include "jit/target.h"
#include "support/text.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

namespace kiln {
namespace {

TEST_SUITE("Target") {
  TEST_CASE("every known target parses to itself and no two are equal") {
    const std::vector<std::string> names = {
        "sm_75",   "sm_80",   "sm_86",   "sm_87",   "sm_88",   "sm_89",   "sm_90",  "sm_90a",
        "sm_100",  "sm_100a", "sm_100f", "sm_103",  "sm_103a", "sm_103f", "sm_110", "sm_110a",
        "sm_110f", "sm_120",  "sm_120a", "sm_120f", "sm_121",  "sm_121a", "sm_121f"};
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto target = parse_target(names[i]);
      REQUIRE_MESSAGE(target.is_ok(), names[i]);
      CHECK(target->text() == names[i]);
      for (std::size_t j = 0; j < i; ++j)
        CHECK(*target != *parse_target(names[j]));
    }
  }

  TEST_CASE("a bare compute capability means its default target") {
    const std::array<std::pair<const char*, const char*>, 8> rows = {{{"90", "sm_90a"},
                                                                      {"9.0", "sm_90a"},
                                                                      {"89", "sm_89"},
                                                                      {"8.9", "sm_89"},
                                                                      {"7.5", "sm_75"},
                                                                      {"100", "sm_100a"},
                                                                      {"10.3", "sm_103a"},
                                                                      {"12.1", "sm_121a"}}};
    for (const auto& [text, expected] : rows) {
      const auto target = parse_target(text);
      REQUIRE_MESSAGE(target.is_ok(), text);
      CHECK(target->text() == expected);
    }
  }

  TEST_CASE("anything else is refused with the text and what is allowed") {
    for (const char* text :
         {"",       "sm",     "sm_",     "sm_9",   "sm_9.0", "sm_90b",  "sm_090", "SM_90",
          "sm_90 ", " sm_90", "sm_90aa", "90a",    "9.0a",   "9.00",    "09.0",   "9.",
          ".9",     "9",      "-90",     "+90",    "sm_+90", "sm_91",   "sm_70",  "sm_99999999999",
          "sm_-10", "sm_101", "hopper",  "lto_90", "9.0.0",  "sm_90\n", "1e2",    "sm_af"}) {
      const auto target = parse_target(text);
      REQUIRE_MESSAGE(!target.is_ok(), text);
      CHECK(target.status().code() == Code::invalid_argument);
      const std::string& message = target.status().message();
      CHECK(message.find(in_quotes(text)) != std::string::npos);
      CHECK(message.find("sm_100f") != std::string::npos);
    }
  }

  TEST_CASE("a suffix that the architecture lacks is named") {
    for (const char* text : {"sm_75a", "sm_80a", "sm_89a", "sm_89f", "sm_90f"}) {
      const auto target = parse_target(text);
      REQUIRE_MESSAGE(!target.is_ok(), text);
      CHECK(target.status().code() == Code::invalid_argument);
      CHECK(target.status().message().find("has no \"") != std::string::npos);
    }
  }

  TEST_CASE("a virtual architecture is refused as such") {
    for (const char* text : {"compute_90", "compute_90a"}) {
      const auto target = parse_target(text);
      REQUIRE_FALSE(target.is_ok());
      CHECK(target.status().message().find("virtual") != std::string::npos);
    }
  }

  TEST_CASE("the default target has the chip's own instructions from 9.0 on") {
    CHECK(default_target({8, 9}).text() == "sm_89");
    CHECK(default_target({9, 0}).text() == "sm_90a");
    CHECK(default_target({12, 0}).text() == "sm_120a");
    CHECK(default_target({13, 5}).text() == "sm_135a");
  }

  TEST_CASE("architecture numbers and capabilities map both ways") {
    for (const int number : {75, 89, 90, 100, 103, 121}) {
      CHECK(architecture_number(capability_of(number)) == number);
    }
    CHECK(capability_of(121) == ComputeCapability{12, 1});
  }
}

TEST_SUITE("target_for_device") {
  const std::vector<int> kNvrtc12_4 = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90};
  const std::vector<int> kNvrtc13_0 = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

  TEST_CASE("a device that NVRTC knows gets its default target") {
    CHECK(target_for_device({7, 5}, kNvrtc13_0)->text() == "sm_75");
    CHECK(target_for_device({9, 0}, kNvrtc13_0)->text() == "sm_90a");
    CHECK(target_for_device({12, 1}, kNvrtc13_0)->text() == "sm_121a");
  }

  TEST_CASE("a device newer than the table gets its own target if NVRTC knows it") {
    CHECK(target_for_device({14, 0}, std::vector{90, 140})->text() == "sm_140a");
  }

  TEST_CASE("an unknown device gets the newest plain target of its major version") {
    CHECK(target_for_device({12, 1}, std::vector{90, 100, 120})->text() == "sm_120");
    CHECK(target_for_device({10, 3}, std::vector{90, 100, 101, 120})->text() == "sm_101");
    CHECK(target_for_device({8, 8}, kNvrtc12_4)->text() == "sm_87");
  }

  TEST_CASE("a target newer than the device does not serve it") {
    CHECK(target_for_device({8, 7}, std::vector{75, 80, 86, 89, 90})->text() == "sm_86");
    CHECK(target_for_device({12, 0}, std::vector{90, 121}).status().code() == Code::unsupported);
  }

  TEST_CASE("without a target of the major version the device is unsupported, with the remedy") {
    for (const auto& [device, supported] :
         std::vector<std::pair<ComputeCapability, std::vector<int>>>{
             {{9, 0}, {75, 80, 86, 89, 100}}, {{12, 1}, kNvrtc12_4}, {{7, 0}, kNvrtc13_0}}) {
      const auto target = target_for_device(device, supported);
      REQUIRE_FALSE(target.is_ok());
      CHECK(target.status().code() == Code::unsupported);
      const std::string& message = target.status().message();
      CHECK(message.find(device.text()) != std::string::npos);
      CHECK(message.find("sm_80") != std::string::npos);
      CHECK(message.find("install") != std::string::npos);
    }
    CHECK_FALSE(target_for_device({9, 0}, {}).is_ok());
  }
}

}  // namespace
}  // namespace kiln
