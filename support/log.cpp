// SPDX-License-Identifier: Apache-2.0
#include "support/log.h"

#include "support/files.h"
#include "support/text.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>

namespace kiln {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"off", "error", "warning", "info", "debug"};

struct Log {
  std::mutex mutex;
  LogSink sink;
  LogLevel sink_level = LogLevel::off;
  UniqueFd file;
  LogLevel file_level = LogLevel::off;
  std::atomic<LogLevel> most_verbose = LogLevel::off;
};

// Never destroyed: foreign handles may be closed, and log, after static destruction.
Log& state() {
  static Log& log = *new Log;
  return log;
}

}  // namespace

std::string_view log_level_name(LogLevel level) {
  return kNames.at(static_cast<int>(level));
}

Result<LogLevel> parse_log_level(std::string_view name) {
  const auto* found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) {
    return failure(Code::invalid_argument,
                   "log level {} is unknown; allowed: off, error, warning, info, debug",
                   in_quotes(name));
  }
  return static_cast<LogLevel>(found - kNames.begin());
}

void set_log_sink(LogSink sink, LogLevel most_verbose) {
  Log& log = state();
  const std::lock_guard lock(log.mutex);
  log.sink_level = sink ? most_verbose : LogLevel::off;
  log.sink = std::move(sink);
  log.most_verbose = std::max(log.sink_level, log.file_level);
}

Status set_log_file(const std::string& path, LogLevel most_verbose) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!file) return system_failure(Code::io, errno, path);
  Log& log = state();
  const std::lock_guard lock(log.mutex);
  log.file = std::move(file);
  log.file_level = most_verbose;
  log.most_verbose = std::max(log.sink_level, log.file_level);
  return {};
}

bool is_logged(LogLevel level) {
  return level <= state().most_verbose.load(std::memory_order_relaxed);
}

void write_log(LogLevel level, std::string_view message) {
  Log& log = state();
  const std::lock_guard lock(log.mutex);
  if (log.sink && level <= log.sink_level) log.sink(level, message);
  if (log.file && level <= log.file_level) {
    const std::string line = fmt::format("kiln {}: {}\n", log_level_name(level), message);
    // A log that cannot be written has nowhere to complain to.
    [[maybe_unused]] const auto written = write_all(log.file.get(), line);
  }
}

}  // namespace kiln
