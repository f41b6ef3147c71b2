// SPDX-License-Identifier: Apache-2.0
#include "jit/target.h"

#include "support/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

namespace kiln {
namespace {

constexpr std::array<ComputeCapability, 12> kKnown = {{{7, 5},
                                                       {8, 0},
                                                       {8, 6},
                                                       {8, 7},
                                                       {8, 8},
                                                       {8, 9},
                                                       {9, 0},
                                                       {10, 0},
                                                       {10, 3},
                                                       {11, 0},
                                                       {12, 0},
                                                       {12, 1}}};
constexpr std::string_view kRealPrefix = "sm_";
constexpr ComputeCapability kFirstWithOwnInstructions = {9, 0};
constexpr ComputeCapability kFirstWithFamily = {10, 0};

// Digits only; from_chars alone would accept a sign.
std::optional<int> parse_number(std::string_view text) {
  int value = 0;
  if (text.empty() || text.size() > 4) return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return std::nullopt;
  }
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "90" or "9.0", if that is a compute capability in the table.
std::optional<ComputeCapability> parse_capability(std::string_view text, bool allow_dot) {
  ComputeCapability capability;
  if (const auto dot = text.find('.'); dot != std::string_view::npos) {
    const auto major = parse_number(text.substr(0, dot));
    const auto minor = parse_number(text.substr(dot + 1));
    if (!allow_dot || !major || !minor) return std::nullopt;
    // "9.00" and "09.0" are not how anyone writes it.
    capability = {*major, *minor};
    if (capability.text() != text) return std::nullopt;
  } else {
    const auto number = parse_number(text);
    if (!number || text.front() == '0') return std::nullopt;
    capability = capability_of(*number);
  }
  if (std::find(kKnown.begin(), kKnown.end(), capability) == kKnown.end()) return std::nullopt;
  return capability;
}

std::string known_targets() {
  std::vector<std::string> names;
  for (const ComputeCapability capability : kKnown) {
    for (const char suffix : {'\0', 'a', 'f'}) {
      if (has_suffix(capability, suffix)) names.push_back(Target{capability, suffix}.text());
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string Target::text() const {
  std::string text = fmt::format("sm_{}{}", capability.major, capability.minor);
  if (suffix != '\0') text.push_back(suffix);
  return text;
}

bool has_suffix(ComputeCapability capability, char suffix) {
  switch (suffix) {
    case '\0':
      return true;
    case 'a':
      return capability >= kFirstWithOwnInstructions;
    case 'f':
      return capability >= kFirstWithFamily;
    default:
      return false;
  }
}

Target default_target(ComputeCapability capability) {
  return {capability, has_suffix(capability, 'a') ? 'a' : '\0'};
}

Result<Target> parse_target(std::string_view text) {
  if (text.starts_with("compute_")) {
    return failure(Code::invalid_argument,
                   "target {} is a virtual architecture; allowed: {}, or a compute capability",
                   in_quotes(text), known_targets());
  }
  if (!text.starts_with(kRealPrefix)) {
    if (const auto capability = parse_capability(text, true)) return default_target(*capability);
  } else {
    std::string_view rest = text.substr(kRealPrefix.size());
    char suffix = '\0';
    if (!rest.empty() && (rest.back() == 'a' || rest.back() == 'f')) {
      suffix = rest.back();
      rest.remove_suffix(1);
    }
    if (const auto capability = parse_capability(rest, false)) {
      if (has_suffix(*capability, suffix)) return Target{*capability, suffix};
      return failure(Code::invalid_argument,
                     "target {}: compute capability {} has no \"{}\" variant; allowed: {}",
                     in_quotes(text), capability->text(), suffix, known_targets());
    }
  }
  return failure(Code::invalid_argument,
                 "target {} is unknown; allowed: {}, or a compute capability such as 9.0",
                 in_quotes(text), known_targets());
}

int architecture_number(ComputeCapability capability) {
  return 10 * capability.major + capability.minor;
}

ComputeCapability capability_of(int architecture_number) {
  return {architecture_number / 10, architecture_number % 10};
}

Result<Target> target_for_device(ComputeCapability device, std::span<const int> supported) {
  std::optional<ComputeCapability> newest;
  for (const int number : supported) {
    const ComputeCapability capability = capability_of(number);
    if (capability == device) return default_target(device);
    const bool runs_on_device = capability.major == device.major && capability < device;
    if (runs_on_device && (!newest || *newest < capability)) newest = capability;
  }
  if (newest) return Target{*newest, '\0'};
  std::vector<std::string> names;
  for (const int number : supported)
    names.push_back(Target{capability_of(number)}.text());
  return failure(Code::unsupported,
                 "NVRTC cannot compile for compute capability {}; it knows {}; install the NVRTC "
                 "of a CUDA release that supports this device",
                 device.text(),
                 names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace kiln
