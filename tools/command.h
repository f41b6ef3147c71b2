// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a subcommand is: a function that adds its options to the parser and returns what runs once
// they are parsed.

#include "tools/invocation.h"

#include <CLI/App.hpp>

#include <functional>

namespace kiln {

// A failure is printed by the caller and mapped by exit_code().
using RunCommand = std::function<Result<ExitCode>(Invocation&)>;
using DefineCommand = RunCommand (*)(CLI::App& command);

RunCommand cmd_bench(CLI::App& command);
RunCommand cmd_check(CLI::App& command);
RunCommand cmd_doctor(CLI::App& command);
RunCommand cmd_export(CLI::App& command);
RunCommand cmd_import(CLI::App& command);
RunCommand cmd_ls(CLI::App& command);
RunCommand cmd_models(CLI::App& command);
RunCommand cmd_pin(CLI::App& command);
RunCommand cmd_prune(CLI::App& command);
RunCommand cmd_show(CLI::App& command);
RunCommand cmd_stats(CLI::App& command);
RunCommand cmd_templates(CLI::App& command);
RunCommand cmd_unpin(CLI::App& command);
RunCommand cmd_verify(CLI::App& command);
RunCommand cmd_warm(CLI::App& command);

}  // namespace kiln
