// SPDX-License-Identifier: Apache-2.0
#include "templates/spec.h"

#include "support/text.h"

#include <algorithm>

namespace kiln {
namespace {

constexpr std::size_t kMaxBytes = 4096;

bool is_allowed(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '+' || c == '-';
}

Status check_word(std::string_view word, std::string_view what, std::string_view spec) {
  if (word.empty()) {
    return failure(Code::invalid_argument, "spec {} has an empty {}", in_quotes(spec), what);
  }
  const auto* bad = std::find_if_not(word.begin(), word.end(), is_allowed);
  if (bad == word.end()) return {};
  return failure(Code::invalid_argument,
                 "spec {} has {} in a {}; allowed: letters, digits and _ . + -", in_quotes(spec),
                 in_quotes(std::string_view(bad, 1)), what);
}

bool is_given(const ParameterList& parameters, std::string_view name) {
  return std::any_of(parameters.begin(), parameters.end(),
                     [&](const auto& parameter) { return parameter.first == name; });
}

}  // namespace

std::string Spec::text() const {
  std::string text = template_name;
  char separator = ':';
  for (const auto& [name, value] : parameters) {
    text += fmt::format("{}{}={}", separator, name, value);
    separator = ',';
  }
  return text;
}

Result<Spec> parse_spec(std::string_view text) {
  if (text.size() > kMaxBytes) {
    return failure(Code::invalid_argument, "spec {} is longer than {} bytes", in_quotes(text),
                   kMaxBytes);
  }
  Spec spec;
  const std::size_t colon = text.find(':');
  spec.template_name = text.substr(0, colon);
  KILN_TRY(check_word(spec.template_name, "template name", text));
  if (colon == std::string_view::npos) return spec;
  std::string_view rest = text.substr(colon + 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view pair = rest.substr(0, comma);
    const std::size_t equals = pair.find('=');
    const std::string name(pair.substr(0, equals));
    KILN_TRY(check_word(name, "parameter name", text));
    if (equals == std::string_view::npos) {
      return failure(Code::invalid_argument, "spec {} gives no value for {}", in_quotes(text),
                     in_quotes(name));
    }
    const std::string value(pair.substr(equals + 1));
    KILN_TRY(check_word(value, "parameter value", text));
    if (is_given(spec.parameters, name)) {
      return failure(Code::invalid_argument, "spec {} gives {} twice", in_quotes(text),
                     in_quotes(name));
    }
    spec.parameters.emplace_back(name, value);
    if (comma == std::string_view::npos) return spec;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace kiln
