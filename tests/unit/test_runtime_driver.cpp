// SPDX-License-Identifier: Apache-2.0
#include "runtime/driver.h"

#include <doctest/doctest.h>

namespace kiln {

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
}

}  // namespace kiln
