// SPDX-License-Identifier: Apache-2.0
#pragma once

// Status and Result<T>: how everything that can fail at run time says so. Our code throws nothing;
// a dependency's exception is caught at the call that may throw it and becomes a Status.
// Values are immutable and cheap to copy, so one failure can be handed to many waiters.

#include <fmt/core.h>

#include <cassert>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace kiln {

// Closed, numbered, never reused: the numbers are the C API's kiln_status_t. A code exists only if
// a caller would act on it differently.
enum class Code : int {
  ok = 0,
  invalid_argument = 1,
  not_found = 2,
  unsupported = 3,
  unavailable = 4,
  not_ready = 5,
  compile_failed = 6,
  compile_disabled = 7,
  load_failed = 8,
  launch_failed = 9,
  io = 10,
  corrupt = 11,
  busy = 12,
  cancelled = 13,
  out_of_memory = 14,
  internal = 15,
};

// Whose native_code it is.
enum class Origin : int { kiln = 0, nvrtc = 1, cuda = 2, sqlite = 3, system = 4 };

std::string_view code_name(Code code);

class [[nodiscard]] Status {
 public:
  struct Failure {
    Code code = Code::internal;
    Origin origin = Origin::kiln;
    int native_code = 0;       // nvrtcResult, CUresult, SQLite extended code or errno
    std::string message = {};  // one line, no trailing period
    std::string detail = {};   // compiler log or empty; may span many lines
  };

  Status() = default;
  explicit Status(Failure failure)
      : failure_(std::make_shared<const Failure>(std::move(failure))) {}

  bool is_ok() const { return failure_ == nullptr; }
  Code code() const { return is_ok() ? Code::ok : failure_->code; }
  Origin origin() const { return is_ok() ? Origin::kiln : failure_->origin; }
  int native_code() const { return is_ok() ? 0 : failure_->native_code; }
  const std::string& message() const;
  const std::string& detail() const;

  // The same failure, its message preceded by "context: ". Success stays success.
  Status with_context(std::string_view context) const;
  // The same failure under another code, for a layer whose callers act differently on it.
  Status with_code(Code code) const;

 private:
  std::shared_ptr<const Failure> failure_;
};

// A failure that Kiln itself found.
template <typename... Args>
Status failure(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return Status({.code = code, .message = fmt::format(format, std::forward<Args>(args)...)});
}

// A failed system call; reads `error` (errno) for native code and text.
Status system_failure(Code code, int error, std::string_view what);

template <typename T>
class [[nodiscard]] Result {
 public:
  // Implicit on purpose: `return value;` and `return status;` both read naturally.
  // NOLINTBEGIN(google-explicit-constructor, hicpp-explicit-conversions)
  Result(T value) : state_(std::move(value)) {}
  // `status` must be a failure.
  Result(Status status) : state_(std::move(status)) { assert(!std::get<Status>(state_).is_ok()); }
  template <typename U>
  requires(std::is_convertible_v<U, T> && !std::is_same_v<U, T> && !std::is_same_v<U, Status> &&
           !std::is_same_v<U, Result>) Result(U value)
      : state_(T(std::move(value))) {}
  // NOLINTEND(google-explicit-constructor, hicpp-explicit-conversions)

  bool is_ok() const { return std::holds_alternative<T>(state_); }
  // Success is an empty Status.
  Status status() const { return is_ok() ? Status() : std::get<Status>(state_); }

  T& value() & { return std::get<T>(state_); }
  const T& value() const& { return std::get<T>(state_); }
  T&& value() && { return std::get<T>(std::move(state_)); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace kiln

#define KILN_CONCAT_IMPL(a, b) a##b
#define KILN_CONCAT(a, b) KILN_CONCAT_IMPL(a, b)

// Returns from the enclosing function if `expression` (a Status) is a failure.
#define KILN_TRY(expression)                                               \
  do {                                                                     \
    if (::kiln::Status kiln_status = (expression); !kiln_status.is_ok()) { \
      return kiln_status;                                                  \
    }                                                                      \
  } while (false)

// Initializes or assigns `target` from a Result, or returns its failure.
#define KILN_TRY_ASSIGN(target, ...) \
  KILN_TRY_ASSIGN_IMPL(KILN_CONCAT(kiln_result_, __LINE__), target, __VA_ARGS__)
#define KILN_TRY_ASSIGN_IMPL(result, target, ...) \
  auto result = (__VA_ARGS__);                    \
  if (!result.is_ok()) return result.status();    \
  target = std::move(result).value()
