// SPDX-License-Identifier: Apache-2.0
#include "support/environment.h"

#include <cstdlib>

namespace kiln {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): see the header
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    if (const auto part = text.substr(0, end); !part.empty()) parts.emplace_back(part);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts)
    text += (text.empty() ? "" : ":") + part;
  return text;
}

}  // namespace

Result<Environment> Environment::read() {
  Environment environment;
  environment.cache_dir = variable("KILN_CACHE_DIR");
  environment.template_path = split(variable("KILN_TEMPLATE_PATH").value_or(""), ':');
  environment.nvrtc = variable("KILN_NVRTC");
  environment.log_file = variable("KILN_LOG_FILE");
  environment.xdg_cache_home = variable("XDG_CACHE_HOME");
  environment.home = variable("HOME");
  const std::string toolchain = variable("KILN_TOOLCHAIN").value_or("any");
  if (toolchain != "any" && toolchain != "exact") {
    return failure(Code::invalid_argument, "KILN_TOOLCHAIN is \"{}\"; allowed: any, exact",
                   toolchain);
  }
  environment.toolchain = toolchain == "exact" ? ToolchainPolicy::exact : ToolchainPolicy::any;
  auto level = parse_log_level(variable("KILN_LOG_LEVEL").value_or("warning"));
  if (!level.is_ok()) return level.status().with_context("KILN_LOG_LEVEL");
  environment.log_level = *level;
  return environment;
}

std::vector<Environment::Entry> Environment::entries() const {
  const Environment defaults;
  const auto text = [](std::string_view name, const std::optional<std::string>& value) {
    return Entry{.name = name, .value = value.value_or(""), .is_set = value.has_value()};
  };
  return {
      text("KILN_CACHE_DIR", cache_dir),
      {"KILN_TEMPLATE_PATH", joined(template_path), !template_path.empty()},
      text("KILN_NVRTC", nvrtc),
      {"KILN_TOOLCHAIN", toolchain == ToolchainPolicy::exact ? "exact" : "any",
       toolchain != defaults.toolchain},
      text("KILN_LOG_FILE", log_file),
      {"KILN_LOG_LEVEL", std::string(log_level_name(log_level)), log_level != defaults.log_level},
      text("XDG_CACHE_HOME", xdg_cache_home),
      text("HOME", home),
  };
}

}  // namespace kiln
