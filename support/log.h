// SPDX-License-Identifier: Apache-2.0
#pragma once

// The library's only voice: one process-wide sink, given by the host. Without a sink nothing is
// written anywhere. Thread-safe; the sink is called under a lock, one line at a time, and must not
// log itself.

#include "support/status.h"

#include <fmt/core.h>

#include <functional>
#include <string_view>
#include <utility>

namespace kiln {

enum class LogLevel : int { off = 0, error = 1, warning = 2, info = 3, debug = 4 };

std::string_view log_level_name(LogLevel level);
// invalid_argument for anything but the five names.
Result<LogLevel> parse_log_level(std::string_view name);

using LogSink = std::function<void(LogLevel level, std::string_view message)>;

// Replaces the sink; an empty one silences the library.
void set_log_sink(LogSink sink, LogLevel most_verbose);

// Also appends every line to a file (KILN_LOG_FILE), opened 0600. io if it cannot be opened.
Status set_log_file(const std::string& path, LogLevel most_verbose);

bool is_logged(LogLevel level);
void write_log(LogLevel level, std::string_view message);

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (is_logged(level)) write_log(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace kiln
