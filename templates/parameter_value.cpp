// SPDX-License-Identifier: Apache-2.0
#include "templates/parameter_value.h"

#include "support/text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace kiln {
namespace {

// A real is an fp32 value to the kernel, so values that round to the same one are the same kernel.
std::optional<float> parse_real(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with('+')) return std::nullopt;
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value == 0 ? 0.0F : value;  // no negative zero
}

std::string real_text(float value) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

std::string range_text(std::string_view what,
                       const std::optional<std::string>& min,
                       const std::optional<std::string>& max) {
  if (min && max) return fmt::format("{} from {} to {}", what, *min, *max);
  if (min) return fmt::format("{} of at least {}", what, *min);
  if (max) return fmt::format("{} of at most {}", what, *max);
  return std::string(what);
}

std::optional<std::string> bound_text(const std::optional<std::int64_t>& bound) {
  if (!bound) return std::nullopt;
  return fmt::format("{}", *bound);
}

std::optional<std::string> bound_text(const std::optional<double>& bound) {
  if (!bound) return std::nullopt;
  return real_text(static_cast<float>(*bound));
}

bool is_listed(const Parameter& parameter, std::string_view value) {
  return std::find(parameter.values.begin(), parameter.values.end(), value) !=
         parameter.values.end();
}

std::optional<std::string> canonical_integer(const Parameter& parameter, std::string_view given) {
  const std::optional<std::int64_t> value = parse_integer(given);
  if (!value || (parameter.min && *value < *parameter.min) ||
      (parameter.max && *value > *parameter.max) ||
      (parameter.multiple_of && *value % *parameter.multiple_of != 0)) {
    return std::nullopt;
  }
  std::string text = fmt::format("{}", *value);
  if (!parameter.values.empty() && !is_listed(parameter, text)) return std::nullopt;
  return text;
}

std::optional<std::string> canonical_real(const Parameter& parameter, std::string_view given) {
  const std::optional<float> value = parse_real(given);
  // The bounds are rounded like the value, or "0.1" would be beyond a bound of 0.1.
  if (!value || (parameter.real_min && *value < static_cast<float>(*parameter.real_min)) ||
      (parameter.real_max && *value > static_cast<float>(*parameter.real_max))) {
    return std::nullopt;
  }
  return real_text(*value);
}

std::optional<std::string> canonical_set(const Parameter& parameter, std::string_view given) {
  const std::vector<std::string_view> members = split(given, '+');
  for (std::string_view member : members) {
    if (!is_listed(parameter, member)) return std::nullopt;
    if (std::count(members.begin(), members.end(), member) > 1) return std::nullopt;
  }
  std::vector<std::string> ordered;
  for (const std::string& value : parameter.values) {
    if (std::find(members.begin(), members.end(), value) != members.end()) {
      ordered.push_back(value);
    }
  }
  return joined(ordered, "+");
}

std::optional<std::string> canonical(const Parameter& parameter, std::string_view given) {
  switch (parameter.type) {
    case ParameterType::integer:
      return canonical_integer(parameter, given);
    case ParameterType::real:
      return canonical_real(parameter, given);
    case ParameterType::boolean:
      if (given != "true" && given != "false") return std::nullopt;
      return std::string(given);
    case ParameterType::choice:
      if (!is_listed(parameter, given)) return std::nullopt;
      return std::string(given);
    case ParameterType::set:
      return canonical_set(parameter, given);
  }
  return std::nullopt;
}

bool is_numeric(const Parameter& parameter) {
  return parameter.type == ParameterType::integer || parameter.type == ParameterType::real;
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Result<std::string> canonical_value(const Parameter& parameter, std::string_view given) {
  std::optional<std::string> value = canonical(parameter, given);
  if (value) return *std::move(value);
  const bool is_plain = is_numeric(parameter) && given.size() < 32 && parse_real(given);
  return failure(Code::invalid_argument, "parameter \"{}\" is {}; allowed: {}", parameter.name,
                 is_plain ? std::string(given) : in_quotes(given), allowed_text(parameter));
}

std::string allowed_text(const Parameter& parameter) {
  switch (parameter.type) {
    case ParameterType::integer: {
      if (!parameter.values.empty()) break;
      const std::string what = parameter.multiple_of
                                   ? fmt::format("a multiple of {}", *parameter.multiple_of)
                                   : "an integer";
      return range_text(what, bound_text(parameter.min), bound_text(parameter.max));
    }
    case ParameterType::real:
      return range_text("a number", bound_text(parameter.real_min), bound_text(parameter.real_max));
    case ParameterType::boolean:
      return "true, false";
    case ParameterType::choice:
      break;
    case ParameterType::set:
      return joined(parameter.values, ", ") + " (joined by +)";
  }
  return joined(parameter.values, ", ");
}

std::string cpp_spelling(const Parameter& parameter, std::string_view canonical) {
  const auto scoped = [&](std::string_view value) {
    return parameter.cpp.empty() ? std::string(value) : fmt::format("{}::{}", parameter.cpp, value);
  };
  switch (parameter.type) {
    case ParameterType::integer:
    case ParameterType::boolean:
      break;
    case ParameterType::real:
      // C++17 takes no float as a template argument; its bits say the same.
      return fmt::format("{:#010x}u",
                         std::bit_cast<std::uint32_t>(parse_real(canonical).value_or(0.0F)));
    case ParameterType::choice:
      return scoped(canonical);
    case ParameterType::set: {
      std::vector<std::string> members;
      for (std::string_view member : split(canonical, '+'))
        members.push_back(scoped(member));
      return fmt::format("({})", joined(members, " | "));
    }
  }
  return std::string(canonical);
}

}  // namespace kiln
