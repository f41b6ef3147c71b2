// SPDX-License-Identifier: Apache-2.0
#include "runtime/capi/boundary.h"

#include "support/log.h"

#include <string>
#include <utility>

namespace kiln {
namespace {

Status& thread_error() noexcept {
  thread_local Status status;
  return status;
}

const Status kOutOfMemory = failure(Code::out_of_memory, "the host is out of memory");
const Status kForeignException = failure(Code::internal, "an unknown exception was thrown");

}  // namespace

void set_last_error(const Status& status) noexcept {
  thread_error() = status;
}

const Status& last_error() noexcept {
  return thread_error();
}

const Status& out_of_memory_status() noexcept {
  return kOutOfMemory;
}

const Status& foreign_exception_status() noexcept {
  return kForeignException;
}

}  // namespace kiln

const char* kiln_status_name(kiln_status_t status) {
  return kiln::code_name(static_cast<kiln::Code>(status)).data();  // from literals
}

const char* kiln_last_error_message(void) {
  return kiln::last_error().message().c_str();
}

const char* kiln_last_error_detail(void) {
  return kiln::last_error().detail().c_str();
}

int32_t kiln_last_error_origin(void) {
  return static_cast<int32_t>(kiln::last_error().origin());
}

int32_t kiln_last_error_native_code(void) {
  return kiln::last_error().native_code();
}

kiln_status_t kiln_set_log_callback(kiln_log_callback_t callback, void* user_data, int32_t level) {
  return kiln::guard([&]() -> kiln::Status {
    if (level < KILN_LOG_OFF || level > KILN_LOG_DEBUG) {
      return kiln::failure(kiln::Code::invalid_argument, "log level is {}; allowed: 0 to 4", level);
    }
    kiln::LogSink sink;
    if (callback != nullptr) {
      sink = [callback, user_data](kiln::LogLevel line_level, std::string_view message) {
        callback(static_cast<int32_t>(line_level), std::string(message).c_str(), user_data);
      };
    }
    kiln::set_log_sink(std::move(sink), static_cast<kiln::LogLevel>(level));
    return {};
  });
}
