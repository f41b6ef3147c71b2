// SPDX-License-Identifier: Apache-2.0
#include "templates/parameter_check.h"

#include "support/text.h"
#include "templates/names.h"
#include "templates/parameter_value.h"

#include <algorithm>

namespace kiln {
namespace {

using Term = Condition::Term;
using Parameters = std::span<const Parameter>;

constexpr std::string_view kTarget = "target";

template <typename... Args>
Status wrong(fmt::format_string<Args...> format, Args&&... args) {
  return failure(Code::invalid_argument, format, std::forward<Args>(args)...);
}

const Parameter* find(Parameters parameters, std::string_view name) {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const auto& parameter) { return parameter.name == name; });
  return found == parameters.end() ? nullptr : &*found;
}

Status check_term(const Term& term, const Parameter& parameter) {
  if ((term.min || term.max || term.multiple_of) && parameter.type != ParameterType::integer) {
    return wrong("bounds need an integer parameter");
  }
  for (const std::string& value : term.any_of) {
    if (parameter.type == ParameterType::set && value.find('+') != std::string::npos) {
      return wrong("{} must be a list of single values", in_quotes(value));
    }
    KILN_TRY_ASSIGN(const std::string canonical, canonical_value(parameter, value));
    if (canonical != value) return wrong("{} must be written {}", in_quotes(value), canonical);
  }
  return {};
}

Status check_values(const Parameter& parameter) {
  std::set<std::string_view> seen;
  for (const std::string& value : parameter.values) {
    if (parameter.type != ParameterType::integer && !is_identifier(value)) {
      return wrong("value {} is no identifier", in_quotes(value));
    }
    if (!seen.insert(value).second) return wrong("value {} is given twice", in_quotes(value));
  }
  if (!parameter.cpp.empty() && !is_qualified_name(parameter.cpp)) {
    return wrong("cpp {} is no qualified C++ name", in_quotes(parameter.cpp));
  }
  return {};
}

Status check_parameter(const Parameter& parameter, Parameters earlier) {
  KILN_TRY(check_values(parameter));
  const bool has_bounds = parameter.min || parameter.max || parameter.multiple_of;
  if (has_bounds && !parameter.values.empty()) return wrong("has both values and bounds");
  if ((parameter.min && parameter.max && *parameter.min > *parameter.max) ||
      (parameter.real_min && parameter.real_max && *parameter.real_min > *parameter.real_max)) {
    return wrong(R"("min" is above "max")");
  }
  if (!parameter.relevant_when.terms.empty() && !parameter.default_value) {
    return wrong("has a relevant_when, so it must have a default");
  }
  // Earlier ones only, so that canonical values can be settled in one pass.
  return check_condition(parameter.relevant_when, earlier, TargetTerms::refused)
      .with_context("relevant_when");
}

}  // namespace

Status check_name(std::string_view name, std::set<std::string_view>& taken) {
  if (!is_manifest_name(name)) {
    return wrong("the name must be a lower-case letter and up to 63 of a-z, 0-9 and _");
  }
  if (name == kTarget) return wrong("the name stands for the compute capability in conditions");
  if (!taken.insert(name).second) return wrong("the name is given twice");
  return {};
}

Status check_condition(const Condition& condition,
                       Parameters parameters,
                       TargetTerms target_terms) {
  for (const Term& term : condition.terms) {
    if (term.name == kTarget) {
      if (target_terms == TargetTerms::allowed) continue;
      return wrong("a condition on the target is allowed in tuning only");
    }
    const Parameter* parameter = find(parameters, term.name);
    if (parameter == nullptr) {
      std::vector<std::string_view> names;
      for (const Parameter& known : parameters)
        names.push_back(known.name);
      return wrong("no parameter {} is known here; known: {}", in_quotes(term.name),
                   names.empty() ? "none" : joined(names, ", "));
    }
    const Status status = check_term(term, *parameter);
    if (!status.is_ok()) return status.with_context("condition on " + in_quotes(term.name));
  }
  return {};
}

Status check_parameters(Parameters parameters) {
  std::set<std::string_view> taken;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Status status = check_name(parameters[i].name, taken);
    if (status.is_ok()) status = check_parameter(parameters[i], parameters.first(i));
    if (!status.is_ok()) return status.with_context("parameter " + in_quotes(parameters[i].name));
  }
  return {};
}

}  // namespace kiln
