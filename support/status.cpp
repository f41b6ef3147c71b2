// SPDX-License-Identifier: Apache-2.0
#include "support/status.h"

#include <system_error>

namespace kiln {
namespace {

const std::string kEmpty;

}  // namespace

std::string_view code_name(Code code) {
  switch (code) {
    case Code::ok:
      return "ok";
    case Code::invalid_argument:
      return "invalid_argument";
    case Code::not_found:
      return "not_found";
    case Code::unsupported:
      return "unsupported";
    case Code::unavailable:
      return "unavailable";
    case Code::not_ready:
      return "not_ready";
    case Code::compile_failed:
      return "compile_failed";
    case Code::compile_disabled:
      return "compile_disabled";
    case Code::load_failed:
      return "load_failed";
    case Code::launch_failed:
      return "launch_failed";
    case Code::io:
      return "io";
    case Code::corrupt:
      return "corrupt";
    case Code::busy:
      return "busy";
    case Code::cancelled:
      return "cancelled";
    case Code::out_of_memory:
      return "out_of_memory";
    case Code::internal:
      return "internal";
  }
  return "unknown";
}

const std::string& Status::message() const {
  return is_ok() ? kEmpty : failure_->message;
}

const std::string& Status::detail() const {
  return is_ok() ? kEmpty : failure_->detail;
}

Status Status::with_context(std::string_view context) const {
  if (is_ok()) return *this;
  Failure failure = *failure_;
  failure.message = fmt::format("{}: {}", context, failure.message);
  return Status(std::move(failure));
}

Status Status::with_code(Code code) const {
  if (is_ok()) return *this;
  Failure failure = *failure_;
  failure.code = code;
  return Status(std::move(failure));
}

Status system_failure(Code code, int error, std::string_view what) {
  return Status({.code = code,
                 .origin = Origin::system,
                 .native_code = error,
                 .message = fmt::format("{}: {}", what, std::generic_category().message(error))});
}

}  // namespace kiln
