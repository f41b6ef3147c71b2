// SPDX-License-Identifier: Apache-2.0
// The kiln command: one row a subcommand, the options that all have, and how failures are told.
#include "kiln/version.h"
#include "runtime/build_info.h"
#include "support/log.h"
#include "support/text.h"
#include "tools/command.h"

#include <CLI/CLI.hpp>

#include <exception>
#include <vector>

namespace kiln {
namespace {

struct Command {
  const char* name;
  DefineCommand define;
  const char* summary;
};

constexpr Command kCommands[] = {
    {"warm", cmd_warm, "compile variants ahead of use"},
    {"check", cmd_check, "compare kernels with their references, bit by bit"},
    {"bench", cmd_bench, "time kernels against a copy of as many bytes"},
    {"ls", cmd_ls, "list the entries of the cache"},
    {"show", cmd_show, "print everything about one entry"},
    {"prune", cmd_prune, "remove entries from the cache"},
    {"export", cmd_export, "copy entries of the cache into a pack"},
    {"import", cmd_import, "copy entries of packs into the cache"},
    {"pin", cmd_pin, "keep entries in the cache, whatever its limit"},
    {"unpin", cmd_unpin, "let entries go again"},
    {"templates", cmd_templates, "list the templates and their parameters"},
    {"models", cmd_models, "list known models and their variants"},
    {"verify", cmd_verify, "check everything that the cache, or a pack, holds"},
    {"stats", cmd_stats, "print the cache's lifetime counters"},
    {"doctor", cmd_doctor, "report NVRTC, driver, device and cache health"},
};

constexpr const char* kExitCodes =
    "Exit status: 0 done, 1 failed, 2 usage, 3 unavailable (NVRTC, driver or device), 4 not found.";

struct Program {
  CLI::App app{"Compiles, checks and times CUDA kernels, and looks into the cache.", "kiln"};
  std::optional<std::string> cache_dir;
  bool is_json = false;
  std::vector<std::pair<CLI::App*, RunCommand>> commands;

  Program();
};

Program::Program() {
  const auto add_common_options = [this](CLI::App& target) {
    target.add_option("--cache-dir", cache_dir, "the cache, whatever the environment says")
        ->type_name("DIR");
    target.add_flag("--json", is_json, "print one JSON object");
    target.allow_extras();  // refused below, in our words
    target.footer(kExitCodes);
  };
  add_common_options(app);
  app.set_version_flag("--version", [] {
    return fmt::format("kiln {}.{}.{}\n{}", KILN_VERSION_MAJOR, KILN_VERSION_MINOR,
                       KILN_VERSION_PATCH, build_info());
  });
  for (const Command& command : kCommands) {
    CLI::App* subcommand = app.add_subcommand(command.name, command.summary);
    commands.emplace_back(subcommand, command.define(*subcommand));
    add_common_options(*subcommand);
  }
}

ExitCode refuse(Console& console, const CLI::App& app, std::string_view message) {
  const std::string help =
      app.get_parent() == nullptr ? "kiln --help" : "kiln " + app.get_name() + " --help";
  console.write_message(fmt::format("kiln: {}\n\"{}\" lists what there is\n", message, help));
  return ExitCode::usage;
}

// What CLI11 could make nothing of.
std::optional<ExitCode> refuse_extras(Console& console, const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining();
  if (extras.empty()) return std::nullopt;
  const std::string& extra = extras.front();
  const bool is_option = extra.size() > 1 && extra.front() == '-';
  const std::string_view kind = is_option                     ? "option"
                                : app.get_parent() == nullptr ? "command"
                                                              : "argument";
  return refuse(console, app, fmt::format("unknown {} {}", kind, in_quotes(extra)));
}

Result<Invocation> open_invocation(const Program& program, Console& console) {
  KILN_TRY_ASSIGN(Environment environment, Environment::read());
  if (program.cache_dir && !program.cache_dir->starts_with('/')) {
    return failure(Code::invalid_argument, "--cache-dir is {}; allowed: an absolute path",
                   in_quotes(*program.cache_dir));
  }
  set_log_sink(
      [&console](LogLevel level, std::string_view message) { console.write_log(level, message); },
      environment.log_level);
  if (environment.log_file) {
    KILN_TRY(
        set_log_file(*environment.log_file, environment.log_level).with_context("KILN_LOG_FILE"));
  }
  return Invocation{.environment = std::move(environment),
                    .cache_dir = program.cache_dir,
                    .is_json = program.is_json,
                    .console = console};
}

ExitCode run(const Program& program, const RunCommand& command, Console& console) {
  auto invocation = open_invocation(program, console);
  const Result<ExitCode> result =
      invocation.is_ok() ? command(*invocation) : Result<ExitCode>(invocation.status());
  set_log_sink({}, LogLevel::off);  // the console goes before what may still log
  if (result.is_ok()) return *result;
  console.write_failure(result.status());
  return exit_code(result.status().code());
}

ExitCode parse_and_run(int argc, char** argv, Console& console) {
  Program program;
  CLI::App* parsed = &program.app;
  const auto print = [&](const std::string& text) {
    const Status status = console.write_output(text);
    if (!status.is_ok()) console.write_failure(status);
    return exit_code(status.code());
  };
  const auto find_parsed = [&]() -> const RunCommand* {
    for (auto& [subcommand, command] : program.commands) {
      if (!subcommand->parsed()) continue;
      parsed = subcommand;
      return &command;
    }
    return nullptr;
  };
  try {
    program.app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return print(program.app.help());
  } catch (const CLI::CallForVersion& version) {
    return print(std::string(version.what()) + '\n');
  } catch (const CLI::ParseError& error) {
    find_parsed();
    return refuse(console, *parsed, error.what());
  }
  const RunCommand* command = find_parsed();
  if (auto refused = refuse_extras(console, program.app)) return *refused;
  if (command == nullptr) return refuse(console, program.app, "no command is given");
  if (auto refused = refuse_extras(console, *parsed)) return *refused;
  return run(program, *command, console);
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) {
  kiln::Console console;
  try {
    return static_cast<int>(kiln::parse_and_run(argc, argv, console));
  } catch (const std::exception& error) {
    // Memory that ran out, or a defect.
    console.write_message(std::string("kiln: ") + error.what() + '\n');
    return static_cast<int>(kiln::ExitCode::failed);
  }
}
