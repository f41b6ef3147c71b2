// SPDX-License-Identifier: Apache-2.0
#include "tools/console.h"

#include "support/files.h"
#include "tools/table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

namespace kiln {
namespace {

constexpr int kUsualWidth = 80;
constexpr std::string_view kEraseLine = "\r\x1b[K";

void write_error(std::string_view text) {
  // There is no other place to report to.
  [[maybe_unused]] const Status status = write_all(STDERR_FILENO, text);
}

}  // namespace

Console::Console() : is_terminal_(::isatty(STDERR_FILENO) == 1) {}

Status Console::write_output(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (!status_line_.empty()) write_error(kEraseLine);
  const Status status = write_all(STDOUT_FILENO, text);
  if (!status_line_.empty()) write_error(status_line_);
  if (status.origin() == Origin::system && status.native_code() == EPIPE) return {};
  return status.with_context("standard output");
}

void Console::write_message(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (status_line_.empty()) return write_error(text);
  write_error(fmt::format("{}{}{}", kEraseLine, text, status_line_));
}

void Console::write_failure(const Status& status) {
  write_message(
      fmt::format("kiln: {}\n{}", printable(status.message()), indented(status.detail())));
}

void Console::write_log(LogLevel level, std::string_view message) {
  write_message(fmt::format("kiln: {}: {}\n", log_level_name(level), printable(message)));
}

int Console::width() const {
  struct winsize size {};
  if (!is_terminal_ || ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return kUsualWidth;
  return size.ws_col == 0 ? kUsualWidth : size.ws_col;
}

void Console::set_status_line(std::string line) {
  if (!is_terminal_) return;
  const std::lock_guard lock(mutex_);
  status_line_ = std::move(line);
  write_error(fmt::format("{}{}", kEraseLine, status_line_));
}

}  // namespace kiln
