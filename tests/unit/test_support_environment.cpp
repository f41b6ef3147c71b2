// SPDX-License-Identifier: Apache-2.0
#include "support/environment.h"

#include <doctest/doctest.h>

#include <stdlib.h>

#include <algorithm>
#include <map>
#include <string>

namespace kiln {
namespace {

// Sets variables for one test; what was there before comes back.
class Variables {
 public:
  void set(const std::string& name, const std::string& value) {
    const char* old = ::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): one thread
    saved_.try_emplace(name, old == nullptr ? "" : old, old != nullptr);
    ::setenv(name.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  Variables() = default;
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;
  ~Variables() {
    for (const auto& [name, value] : saved_) {
      if (value.second) {
        ::setenv(name.c_str(), value.first.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
      } else {
        ::unsetenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
      }
    }
  }

 private:
  std::map<std::string, std::pair<std::string, bool>> saved_;
};

}  // namespace

TEST_SUITE("Environment") {
  TEST_CASE("empty variables count as unset") {
    Variables variables;
    variables.set("KILN_CACHE_DIR", "");
    variables.set("KILN_NVRTC", "");
    variables.set("KILN_TOOLCHAIN", "");
    const auto environment = Environment::read();
    REQUIRE(environment.is_ok());
    CHECK_FALSE(environment->cache_dir.has_value());
    CHECK_FALSE(environment->nvrtc.has_value());
    CHECK(environment->toolchain == ToolchainPolicy::any);
  }

  TEST_CASE("values are taken as they are, lists split at colons") {
    Variables variables;
    variables.set("KILN_CACHE_DIR", "/a dir");
    variables.set("KILN_TEMPLATE_PATH", "/x::/y");
    variables.set("KILN_TOOLCHAIN", "exact");
    variables.set("KILN_LOG_LEVEL", "debug");
    variables.set("KILN_CACHE_LIMIT", "512M");
    const auto environment = Environment::read();
    REQUIRE(environment.is_ok());
    CHECK(environment->cache_dir == "/a dir");
    CHECK(environment->template_path == std::vector<std::string>{"/x", "/y"});
    CHECK(environment->toolchain == ToolchainPolicy::exact);
    CHECK(environment->log_level == LogLevel::debug);
    CHECK(environment->cache_limit_bytes == 512 << 20);
    CHECK(environment->lock_timeout == std::chrono::milliseconds(30000));
    CHECK(environment->pack_path.empty());
    CHECK_FALSE(environment->trust_dir);
    variables.set("KILN_PACK_PATH", ":/a b:/c%41?:");
    variables.set("KILN_TRUST", "/k.pub:/l.pub");
    variables.set("KILN_SIGN_KEY", "/k.pem");
    variables.set("KILN_TRUST_DIR", "1");
    const auto packs = Environment::read();
    REQUIRE(packs.is_ok());
    CHECK(packs->pack_path == std::vector<std::string>{"/a b", "/c%41?"});
    CHECK(packs->trust == std::vector<std::string>{"/k.pub", "/l.pub"});
    CHECK(packs->sign_key == "/k.pem");
    CHECK(packs->trust_dir);
    variables.set("KILN_LOCK_TIMEOUT_MS", "0");
    CHECK(Environment::read()->lock_timeout == std::chrono::milliseconds(0));
  }

  TEST_CASE("a bad value is refused with the variable, the value and what is allowed") {
    Variables variables;
    variables.set("KILN_TOOLCHAIN", "same");
    CHECK(Environment::read().status().message() ==
          "KILN_TOOLCHAIN is \"same\"; allowed: any, exact");
    variables.set("KILN_TOOLCHAIN", "any");
    for (const char* value : {"1023K", "1048575", "-2M", "2X", "M", "9999999T"}) {
      variables.set("KILN_CACHE_LIMIT", value);
      CHECK(Environment::read().status().code() == Code::invalid_argument);
      CHECK(Environment::read().status().message() ==
            std::string("KILN_CACHE_LIMIT is \"") + value +
                "\"; allowed: 1M or more, in bytes or with K, M, G or T");
    }
    variables.set("KILN_CACHE_LIMIT", "");
    variables.set("KILN_LOG_LEVEL", "loud");
    CHECK(Environment::read().status().message() ==
          "KILN_LOG_LEVEL: log level \"loud\" is unknown; allowed: off, error, warning, info, "
          "debug");
    variables.set("KILN_LOG_LEVEL", "info");
    for (const char* name : {"KILN_CACHE_LOCAL", "KILN_TRUST_DIR"}) {
      variables.set(name, "yes");
      CHECK(Environment::read().status().message() ==
            fmt::format("{} is \"yes\"; allowed: 0, 1", name));
      variables.set(name, "");
    }
    for (const char* value : {"-1", "1.5", "1s", " 1", "86400001", "99999999999999999999"}) {
      variables.set("KILN_LOCK_TIMEOUT_MS", value);
      CHECK(Environment::read().status().message() ==
            fmt::format("KILN_LOCK_TIMEOUT_MS is \"{}\"; allowed: 0 to 86400000", value));
    }
  }

  TEST_CASE("the entries tell what is set and what is default") {
    Variables variables;
    variables.set("KILN_CACHE_DIR", "/somewhere");
    variables.set("KILN_NVRTC", "");
    variables.set("KILN_TOOLCHAIN", "any");  // given, though it is the default
    variables.set("KILN_LOG_LEVEL", "");
    variables.set("KILN_CACHE_LIMIT", "");
    const auto entries = Environment::read()->entries();
    const auto entry = [&](std::string_view name) {
      return *std::find_if(entries.begin(), entries.end(),
                           [&](const auto& candidate) { return candidate.name == name; });
    };
    CHECK(entry("KILN_CACHE_DIR").is_set);
    CHECK(entry("KILN_CACHE_DIR").value == "/somewhere");
    CHECK_FALSE(entry("KILN_NVRTC").is_set);
    CHECK_FALSE(entry("KILN_CACHE_LIMIT").is_set);
    CHECK(entry("KILN_CACHE_LIMIT").value == "2G");
    CHECK(entry("KILN_TOOLCHAIN").is_set);
    CHECK(entry("KILN_TOOLCHAIN").value == "any");
    CHECK_FALSE(entry("KILN_LOG_LEVEL").is_set);
    CHECK(entry("KILN_LOG_LEVEL").value == "warning");
  }
}

}  // namespace kiln
