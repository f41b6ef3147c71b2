// SPDX-License-Identifier: Apache-2.0
#pragma once

// The only reader of the process environment. Read once, when a context or a command starts; the
// result is a value that everything below gets passed. Not safe against a concurrent setenv, as
// nothing in C is.

#include "support/log.h"
#include "support/status.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

enum class ToolchainPolicy { any, exact };

constexpr std::int64_t kDefaultCacheLimitBytes = std::int64_t{2} << 30;
constexpr std::int64_t kLeastCacheLimitBytes = std::int64_t{1} << 20;

struct Environment {
  // Where the value of one variable came from, for `kiln doctor`.
  struct Entry {
    std::string_view name;
    std::string value;    // as it is in effect
    bool is_set = false;  // false: the default
  };

  std::optional<std::string> cache_dir;              // KILN_CACHE_DIR
  bool cache_local = false;                          // KILN_CACHE_LOCAL
  std::optional<std::string> local_dir;              // KILN_LOCAL_DIR
  std::optional<std::string> test_file_system;       // KILN_TEST_FILE_SYSTEM
  bool trust_dir = false;                            // KILN_TRUST_DIR
  std::vector<std::string> pack_path;                // KILN_PACK_PATH, split at ':'
  std::vector<std::string> trust;                    // KILN_TRUST, split at ':'
  std::optional<std::string> sign_key;               // KILN_SIGN_KEY
  std::vector<std::string> template_path;            // KILN_TEMPLATE_PATH, split at ':'
  std::optional<std::string> nvrtc;                  // KILN_NVRTC
  ToolchainPolicy toolchain = ToolchainPolicy::any;  // KILN_TOOLCHAIN
  std::chrono::milliseconds lock_timeout{30000};     // KILN_LOCK_TIMEOUT_MS
  std::optional<std::string> log_file;               // KILN_LOG_FILE
  LogLevel log_level = LogLevel::warning;            // KILN_LOG_LEVEL
  std::optional<std::string> xdg_cache_home;         // XDG_CACHE_HOME
  std::optional<std::string> home;                   // HOME
  std::set<std::string, std::less<>> given;          // names of those that are set
  // KILN_CACHE_LIMIT
  std::int64_t cache_limit_bytes = kDefaultCacheLimitBytes;

  // Empty values count as unset. invalid_argument names the variable, its value and what is
  // allowed.
  static Result<Environment> read();
  std::vector<Entry> entries() const;
};

}  // namespace kiln
