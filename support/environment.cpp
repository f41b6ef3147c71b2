// SPDX-License-Identifier: Apache-2.0
#include "support/environment.h"

#include "support/text.h"

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <utility>

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

constexpr std::int64_t kLongestLockTimeoutMs = 86'400'000;

// A decimal number of at most `most`.
std::optional<std::int64_t> parse_count(const std::string& text, std::int64_t most) {
  std::int64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || rest != end || count < 0 || count > most) return std::nullopt;
  return count;
}

Result<std::int64_t> parse_cache_limit(const std::optional<std::string>& text) {
  if (!text) return kDefaultCacheLimitBytes;
  const std::optional<std::int64_t> bytes = parse_bytes(*text);
  if (!bytes || *bytes < kLeastCacheLimitBytes) {
    return failure(Code::invalid_argument,
                   "KILN_CACHE_LIMIT is {}; allowed: {} or more, in bytes or with K, M, G or T",
                   in_quotes(*text), exact_bytes_text(kLeastCacheLimitBytes));
  }
  return *bytes;
}

}  // namespace

Result<Environment> Environment::read() {
  Environment environment;
  const auto read = [&environment](const char* name) {
    std::optional<std::string> value = variable(name);
    if (value) environment.given.insert(name);
    return value;
  };
  environment.cache_dir = read("KILN_CACHE_DIR");
  KILN_TRY_ASSIGN(environment.cache_limit_bytes, parse_cache_limit(read("KILN_CACHE_LIMIT")));
  for (auto [name, flag] : {std::pair("KILN_CACHE_LOCAL", &environment.cache_local),
                            std::pair("KILN_TRUST_DIR", &environment.trust_dir)}) {
    const std::string value = read(name).value_or("0");
    if (value != "0" && value != "1") {
      return failure(Code::invalid_argument, "{} is {}; allowed: 0, 1", name, in_quotes(value));
    }
    *flag = value == "1";
  }
  environment.pack_path = split(read("KILN_PACK_PATH").value_or(""), ':');
  environment.trust = split(read("KILN_TRUST").value_or(""), ':');
  environment.sign_key = read("KILN_SIGN_KEY");
  environment.local_dir = read("KILN_LOCAL_DIR");
  environment.test_file_system = read("KILN_TEST_FILE_SYSTEM");
  environment.template_path = split(read("KILN_TEMPLATE_PATH").value_or(""), ':');
  environment.nvrtc = read("KILN_NVRTC");
  environment.log_file = read("KILN_LOG_FILE");
  environment.xdg_cache_home = read("XDG_CACHE_HOME");
  environment.home = read("HOME");
  const std::string toolchain = read("KILN_TOOLCHAIN").value_or("any");
  if (toolchain != "any" && toolchain != "exact") {
    return failure(Code::invalid_argument, "KILN_TOOLCHAIN is {}; allowed: any, exact",
                   in_quotes(toolchain));
  }
  environment.toolchain = toolchain == "exact" ? ToolchainPolicy::exact : ToolchainPolicy::any;
  const std::string lock_timeout = read("KILN_LOCK_TIMEOUT_MS").value_or("30000");
  const auto milliseconds = parse_count(lock_timeout, kLongestLockTimeoutMs);
  if (!milliseconds) {
    return failure(Code::invalid_argument, "KILN_LOCK_TIMEOUT_MS is {}; allowed: 0 to {}",
                   in_quotes(lock_timeout), kLongestLockTimeoutMs);
  }
  environment.lock_timeout = std::chrono::milliseconds(*milliseconds);
  auto level = parse_log_level(read("KILN_LOG_LEVEL").value_or("warning"));
  if (!level.is_ok()) return level.status().with_context("KILN_LOG_LEVEL");
  environment.log_level = *level;
  return environment;
}

std::vector<Environment::Entry> Environment::entries() const {
  const auto entry = [this](std::string_view name, std::string value) {
    return Entry{.name = name, .value = std::move(value), .is_set = given.contains(name)};
  };
  return {
      entry("KILN_CACHE_DIR", cache_dir.value_or("")),
      entry("KILN_CACHE_LIMIT", exact_bytes_text(cache_limit_bytes)),
      entry("KILN_CACHE_LOCAL", cache_local ? "1" : "0"),
      entry("KILN_LOCAL_DIR", local_dir.value_or("")),
      entry("KILN_TRUST_DIR", trust_dir ? "1" : "0"),
      entry("KILN_PACK_PATH", joined(pack_path, ":")),
      entry("KILN_TRUST", joined(trust, ":")),
      entry("KILN_SIGN_KEY", sign_key.value_or("")),
      entry("KILN_TEMPLATE_PATH", joined(template_path, ":")),
      entry("KILN_NVRTC", nvrtc.value_or("")),
      entry("KILN_TOOLCHAIN", toolchain == ToolchainPolicy::exact ? "exact" : "any"),
      entry("KILN_LOCK_TIMEOUT_MS", fmt::format("{}", lock_timeout.count())),
      entry("KILN_LOG_FILE", log_file.value_or("")),
      entry("KILN_LOG_LEVEL", std::string(log_level_name(log_level))),
      entry("XDG_CACHE_HOME", xdg_cache_home.value_or("")),
      entry("HOME", home.value_or("")),
  };
}

}  // namespace kiln
