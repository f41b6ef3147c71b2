// SPDX-License-Identifier: Apache-2.0
#include "jit/options.h"

#include "support/text.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace kiln {
namespace {

struct Option {
  std::string_view text;
  int since_major;
  int since_minor;
};

// In the order in which they are passed. The versions are those seen to accept the option, of 12.3,
// 12.4, 12.8, 12.9 and 13.0.
constexpr std::array<Option, 5> kOptions = {{
    {"--std=c++17", 12, 3},
    // Otherwise the directory of the program's name, which is the current one, is searched.
    {"--no-source-include", 12, 3},
    // Otherwise NVRTC raises the stack limit of the whole process.
    {"--modify-stack-limit=false", 12, 3},
    // Otherwise ptxas keeps results in the driver's cache, and concurrent compiles wait in turn.
    {"--no-cache", 12, 9},
    // The only source of spilled bytes.
    {"--ptxas-options=-v", 12, 3},
}};
constexpr std::string_view kArchitecture = "--gpu-architecture=";

}  // namespace

std::vector<std::string> compile_options(const Target& target, int nvrtc_major, int nvrtc_minor) {
  std::vector<std::string> options = {std::string(kArchitecture) + target.text()};
  for (const Option& option : kOptions) {
    if (std::pair(nvrtc_major, nvrtc_minor) >= std::pair(option.since_major, option.since_minor)) {
      options.emplace_back(option.text);
    }
  }
  return options;
}

Status check_options(std::span<const std::string> options, const Target& target) {
  const std::string architecture = std::string(kArchitecture) + target.text();
  int architectures = 0;
  for (const std::string& text : options) {
    if (text == architecture) {
      ++architectures;
    } else if (std::none_of(kOptions.begin(), kOptions.end(),
                            [&](const Option& option) { return option.text == text; })) {
      return failure(Code::invalid_argument, "compiler option {} is not allowed for {}",
                     in_quotes(text), target.text());
    }
  }
  if (architectures == 1) return {};
  return failure(Code::invalid_argument, "{} compiler options name the target; one must: {}",
                 architectures, architecture);
}

}  // namespace kiln
