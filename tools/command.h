// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a subcommand is: a function that adds its options to the parser and returns what runs once
// they are parsed. Here, too, is the one mapping from status codes to exit codes.

#include "support/environment.h"
#include "support/status.h"
#include "tools/console.h"

#include <CLI/App.hpp>

#include <functional>
#include <optional>
#include <string>

namespace kiln {

enum class ExitCode : int { done = 0, failed = 1, usage = 2, unavailable = 3, not_found = 4 };

constexpr ExitCode exit_code(Code code) {
  switch (code) {
    case Code::ok:
      return ExitCode::done;
    case Code::invalid_argument:
      return ExitCode::usage;
    case Code::unavailable:
      return ExitCode::unavailable;
    case Code::not_found:
      return ExitCode::not_found;
    default:
      return ExitCode::failed;
  }
}

// What every subcommand is given.
struct Session {
  Environment environment = {};
  std::optional<std::string> cache_dir = {};  // --cache-dir, absolute
  bool is_json = false;                       // --json
  Console& console;
};

// A failure is printed by the caller and mapped by exit_code().
using RunCommand = std::function<Result<ExitCode>(Session&)>;
using DefineCommand = RunCommand (*)(CLI::App& command);

RunCommand cmd_doctor(CLI::App& command);
RunCommand cmd_ls(CLI::App& command);
RunCommand cmd_models(CLI::App& command);
RunCommand cmd_show(CLI::App& command);
RunCommand cmd_stats(CLI::App& command);
RunCommand cmd_templates(CLI::App& command);
RunCommand cmd_warm(CLI::App& command);

}  // namespace kiln
