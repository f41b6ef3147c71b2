// SPDX-License-Identifier: Apache-2.0
#include "support/files.h"
#include "support/log.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <string>
#include <vector>

namespace kiln {

TEST_SUITE("log") {
  TEST_CASE("a sink gets lines up to its level, and none once it is removed") {
    std::vector<std::string> lines;
    set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); },
                 LogLevel::warning);
    log(LogLevel::error, "{} and {}", 1, 2);
    log(LogLevel::warning, "second");
    log(LogLevel::info, "never");
    set_log_sink({}, LogLevel::debug);
    log(LogLevel::error, "never");
    CHECK(lines == std::vector<std::string>{"1 and 2", "second"});
  }

  TEST_CASE("a log file is appended to, line by line") {
    const test::TemporaryDirectory directory;
    const std::string path = directory.file("log");
    REQUIRE(set_log_file(path, LogLevel::info).is_ok());
    log(LogLevel::info, "one");
    log(LogLevel::debug, "never");
    log(LogLevel::error, "two");
    CHECK(*read_file(path, 1000) == "kiln info: one\nkiln error: two\n");
    REQUIRE(set_log_file("/dev/null", LogLevel::off).is_ok());
  }

  TEST_CASE("a log file that cannot be opened is reported, and a FIFO is not waited for") {
    const test::TemporaryDirectory directory;
    REQUIRE(::mkfifo(directory.file("fifo").c_str(), 0600) == 0);
    CHECK(set_log_file(directory.file("fifo"), LogLevel::info).code() == Code::io);
    CHECK(set_log_file("/nonexistent/log", LogLevel::info).code() == Code::io);
  }
}

}  // namespace kiln
