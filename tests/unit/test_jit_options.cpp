// SPDX-License-Identifier: Apache-2.0
#include "jit/options.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace kiln {
namespace {

bool has(const std::vector<std::string>& options, const std::string& option) {
  return std::find(options.begin(), options.end(), option) != options.end();
}

TEST_SUITE("compile_options") {
  const Target kTarget = {{9, 0}, 'a'};

  TEST_CASE("the list for NVRTC 13.0 is exactly this one, in this order") {
    CHECK(compile_options(kTarget, 13, 0) ==
          std::vector<std::string>{"--gpu-architecture=sm_90a", "--std=c++17",
                                   "--no-source-include", "--modify-stack-limit=false",
                                   "--no-cache", "--ptxas-options=-v"});
  }

  TEST_CASE("--no-cache is passed from 12.9 on only") {
    CHECK_FALSE(has(compile_options(kTarget, 12, 0), "--no-cache"));
    CHECK_FALSE(has(compile_options(kTarget, 12, 8), "--no-cache"));
    CHECK(has(compile_options(kTarget, 12, 9), "--no-cache"));
    CHECK(has(compile_options(kTarget, 14, 2), "--no-cache"));
  }

  TEST_CASE("the exact target is passed") {
    CHECK(has(compile_options({{10, 0}, 'f'}, 13, 0), "--gpu-architecture=sm_100f"));
    CHECK(has(compile_options({{9, 0}, '\0'}, 13, 0), "--gpu-architecture=sm_90"));
  }

  TEST_CASE("what compile_options returns passes the check") {
    for (const int minor : {0, 4, 8, 9}) {
      CHECK(check_options(compile_options(kTarget, 12, minor), kTarget).is_ok());
    }
  }

  TEST_CASE("an option that reads or writes files, or changes results, is refused by name") {
    for (const char* option : {"-I/usr/include",
                               "-I",
                               "--include-path=/tmp",
                               "-include=x.h",
                               "--pre-include=x.h",
                               "--use_fast_math",
                               "-use_fast_math",
                               "--ftz=true",
                               "--prec-div=false",
                               "--fmad=false",
                               "--time=/tmp/t.csv",
                               "--device-time-trace=/tmp/t",
                               "--create-pch=/tmp/x.pch",
                               "--use-pch=/tmp/x.pch",
                               "--pch",
                               "--pch-dir=/tmp",
                               "-DX=1",
                               "--options-file=/tmp/o",
                               "--ptxas-options=-o=/tmp/x",
                               "--std=c++20",
                               "",
                               "-G",
                               "-lineinfo"}) {
      auto options = compile_options(kTarget, 13, 0);
      options.emplace_back(option);
      const Status status = check_options(options, kTarget);
      REQUIRE_MESSAGE(!status.is_ok(), option);
      CHECK(status.code() == Code::invalid_argument);
      CHECK(status.message().find('"' + std::string(option) + '"') != std::string::npos);
    }
  }

  TEST_CASE("options without the target, with two, or with another target are refused") {
    auto options = compile_options(kTarget, 13, 0);
    options.push_back(options.front());
    CHECK_FALSE(check_options(options, kTarget).is_ok());
    CHECK_FALSE(check_options({}, kTarget).is_ok());
    CHECK_FALSE(check_options(compile_options({{8, 9}, '\0'}, 13, 0), kTarget).is_ok());
  }
}

}  // namespace
}  // namespace kiln
