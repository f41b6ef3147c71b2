// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every subcommand is given, and the one mapping from status codes to exit codes.

#include "support/environment.h"
#include "support/status.h"
#include "tools/console.h"

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

struct Invocation {
  Environment environment = {};
  std::optional<std::string> cache_dir = {};  // --cache-dir, absolute
  bool is_json = false;                       // --json
  Console& console;
};

}  // namespace kiln
