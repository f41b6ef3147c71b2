// SPDX-License-Identifier: Apache-2.0
#include "runtime/driver.h"

#include <doctest/doctest.h>

namespace kiln {
namespace {

// doctest cannot print a function pointer.
template <typename Function>
bool is_there(Function* function) {
  return function != nullptr;
}

}  // namespace

TEST_SUITE("Driver") {
  TEST_CASE("a machine without the library gets `unavailable` with the loader's reason") {
    const Status status = Driver::load("libcuda-of-no-machine.so.1").status();
    CHECK(status.code() == Code::unavailable);
    CHECK(status.message().find("libcuda-of-no-machine.so.1") != std::string::npos);
  }

  TEST_CASE("a library that is no driver is refused") {
    const Status status = Driver::load("libm.so.6").status();
    CHECK(status.code() == Code::unavailable);
    CHECK(status.message() ==
          "the CUDA driver lacks cuGetProcAddress_v2; CUDA 12.0 or newer is needed");
  }

  TEST_CASE("functions are asked for by the names that the driver knows, without versions") {
    const auto driver = Driver::load(KILN_STAND_IN_DRIVER);
    REQUIRE_MESSAGE(driver.is_ok(), driver.status().message());
    CHECK((*driver)->version() == 13000);
    CHECK(is_there((*driver)->api().cuLaunchKernelEx));
    CHECK(is_there((*driver)->api().cuMemFree));
  }

  TEST_CASE("a missing optional function leaves the driver usable") {
    const auto driver = Driver::load(KILN_STAND_IN_DRIVER);
    REQUIRE(driver.is_ok());
    CHECK_FALSE(is_there((*driver)->api().cuFuncLoad));
    CHECK_FALSE(is_there((*driver)->api().cuMemAlloc));
  }
}

}  // namespace kiln
