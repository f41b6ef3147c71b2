// SPDX-License-Identifier: Apache-2.0
#include "support/status.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <memory>
#include <set>
#include <string>

namespace kiln {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return failure(Code::invalid_argument, "{} is odd", value);
  return value / 2;
}

Result<int> quarter(int value) {
  KILN_TRY_ASSIGN(const int halved, half(value));
  return half(halved);
}

Status check_quarter(int value) {
  KILN_TRY(quarter(value).status());
  return {};
}

}  // namespace

TEST_SUITE("Status") {
  TEST_CASE("success carries nothing") {
    const Status status;
    CHECK(status.is_ok());
    CHECK(status.code() == Code::ok);
    CHECK(status.message().empty());
    CHECK(status.detail().empty());
  }

  TEST_CASE("a failure keeps code, origin, native code, message and detail") {
    const Status status({.code = Code::compile_failed,
                         .origin = Origin::nvrtc,
                         .native_code = 6,
                         .message = "no",
                         .detail = "line 1\nline 2"});
    CHECK(status.code() == Code::compile_failed);
    CHECK(status.origin() == Origin::nvrtc);
    CHECK(status.native_code() == 6);
    CHECK(status.message() == "no");
    CHECK(status.detail() == "line 1\nline 2");
  }

  TEST_CASE("context goes before the message and changes nothing else") {
    const Status status =
        Status({.code = Code::io, .native_code = 5, .message = "full"}).with_context("store");
    CHECK(status.message() == "store: full");
    CHECK(status.code() == Code::io);
    CHECK(status.native_code() == 5);
    CHECK(Status().with_context("store").is_ok());
  }

  TEST_CASE("another code keeps the rest") {
    const Status status = failure(Code::io, "gone").with_code(Code::corrupt);
    CHECK(status.code() == Code::corrupt);
    CHECK(status.message() == "gone");
    CHECK(Status().with_code(Code::corrupt).is_ok());
  }

  TEST_CASE("a system failure names what failed and keeps errno") {
    const Status status = system_failure(Code::io, ENOSPC, "/cache/x");
    CHECK(status.native_code() == ENOSPC);
    CHECK(status.origin() == Origin::system);
    CHECK(status.message() == "/cache/x: No space left on device");
  }

  TEST_CASE("every code has a name of its own") {
    std::set<std::string_view> names;
    for (int code = 0; code <= static_cast<int>(Code::internal); ++code) {
      names.insert(code_name(static_cast<Code>(code)));
    }
    CHECK(names.size() == 16);
    CHECK(names.count("unknown") == 0);
    CHECK(code_name(static_cast<Code>(16)) == "unknown");
  }
}

TEST_SUITE("Result") {
  TEST_CASE("holds a value or a failure") {
    CHECK(*half(4) == 2);
    CHECK(half(4).status().is_ok());
    CHECK(half(3).status().message() == "3 is odd");
  }

  TEST_CASE("KILN_TRY and KILN_TRY_ASSIGN return the first failure") {
    CHECK(*quarter(8) == 2);
    CHECK(quarter(6).status().message() == "3 is odd");
    CHECK(check_quarter(8).is_ok());
    CHECK(check_quarter(7).message() == "7 is odd");
  }

  TEST_CASE("moves a value that cannot be copied") {
    Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
    const std::unique_ptr<int> value = std::move(result).value();
    CHECK(*value == 7);
  }
}

}  // namespace kiln
