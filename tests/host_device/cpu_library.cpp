// SPDX-License-Identifier: Apache-2.0

#include "tests/host_device/cpu_library.h"

#include "support/embedded_file.h"
#include "support/files.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <span>
#include <string_view>

namespace kiln {

// device/, by kiln_embed().
std::span<const EmbeddedFile> embedded_host_prelude();

namespace {

constexpr std::size_t kMostLogBytes = 1UL << 20;

Status write_text(const std::string& path, std::string_view text) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return system_failure(Code::io, error.value(), path);
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd) return system_failure(Code::io, errno, path);
  return write_all(fd.get(), text).with_context(path);
}

Status write_sources(const SourceSet& sources,
                     const std::string& name_expression,
                     const std::string& directory) {
  KILN_TRY(write_text(join_path(directory, sources.main.name), sources.main.text));
  for (const SourceText& include : sources.includes) {
    KILN_TRY(write_text(join_path(directory, include.name), include.text));
  }
  for (const EmbeddedFile& file : embedded_host_prelude()) {
    const bool is_replacement = file.name == "ptx.cuh";
    const std::string name = (is_replacement ? "kiln/" : "") + std::string(file.name);
    KILN_TRY(write_text(join_path(directory, name), file.text));
  }
  return write_text(join_path(directory, "library.cpp"),
                    fmt::format("#include \"host_prelude.h\"\n"
                                "#include \"call_kernel.h\"\n"
                                "#include \"{0}\"\n"
                                "extern \"C\" void kiln_kernel(void** arguments) {{\n"
                                "  kiln::host::call({1}, arguments);\n"
                                "}}\n"
                                "extern \"C\" const char* kiln_signature() {{\n"
                                "  return kiln::host::signature({1});\n"
                                "}}\n",
                                sources.main.name, name_expression));
}

// Waits for `command`; its output goes to the file `log`.
Status run_program(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): posix_spawnp() does not write to it
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return system_failure(Code::unavailable, error, command[0]);

  int exit_status = 0;
  while (waitpid(child, &exit_status, 0) < 0) {
    if (errno != EINTR) return system_failure(Code::internal, errno, "waitpid");
  }
  if (exit_status == 0) return {};
  std::string detail;
  if (auto text = read_file(log, kMostLogBytes); text.is_ok()) detail = *text;
  return Status({.code = Code::compile_failed,
                 .native_code = exit_status,
                 .message = fmt::format("{} ended with status {}", command[0], exit_status),
                 .detail = detail});
}

}  // namespace

Result<std::string> build_cpu_library(const SourceSet& sources,
                                      const std::string& name_expression,
                                      const std::string& compiler,
                                      const std::vector<std::string>& flags,
                                      const std::string& directory) {
  KILN_TRY(write_sources(sources, name_expression, directory));
  std::string library = join_path(directory, "library.so");
  std::vector<std::string> command = {compiler, "-std=c++17", "-O1", "-g1", "-fPIC", "-shared",
                                      // Every rounding as written; NaN and signed zero count.
                                      "-ffp-contract=off", "-fno-fast-math",
                                      // Kernels read memory through types of several elements.
                                      "-fno-strict-aliasing", "-fno-exceptions",
                                      "-Wno-unknown-pragmas", "-I" + directory,
                                      join_path(directory, "library.cpp"),
                                      // The program's own C++ and sanitizer libraries serve.
                                      "-nodefaultlibs", "-lm", "-lc", "-lgcc", "-o", library};
  command.insert(command.end(), flags.begin(), flags.end());
  KILN_TRY(
      run_program(command, join_path(directory, "compiler.log")).with_context(name_expression));
  return library;
}

}  // namespace kiln
