// SPDX-License-Identifier: Apache-2.0
#include "templates/variant.h"

#include "support/text.h"
#include "templates/named_values.h"
#include "templates/parameter_value.h"

#include <algorithm>

namespace kiln {
namespace {

std::vector<std::string_view> names_of(const std::vector<Parameter>& parameters) {
  std::vector<std::string_view> names;
  names.reserve(parameters.size());
  for (const Parameter& parameter : parameters)
    names.push_back(parameter.name);
  return names;
}

Status check_names(const Manifest& manifest, const ParameterList& given) {
  for (auto entry = given.begin(); entry != given.end(); ++entry) {
    const std::string& name = entry->first;
    if (manifest.find_parameter(name) == nullptr) {
      return failure(Code::invalid_argument, "template \"{}\" has no parameter {}; it has: {}",
                     manifest.name, in_quotes(name), joined(names_of(manifest.parameters), ", "));
    }
    if (std::any_of(given.begin(), entry, [&](const auto& other) { return other.first == name; })) {
      return failure(Code::invalid_argument, R"(parameter "{}" is given twice)", name);
    }
  }
  return {};
}

// `earlier` holds the canonical values of the parameters before this one.
Result<std::string> settle(const Manifest& manifest,
                           const Parameter& parameter,
                           const std::string* given,
                           const ParameterList& earlier) {
  if (given == nullptr) {
    if (parameter.default_value) return *parameter.default_value;
    return failure(Code::invalid_argument, R"(parameter "{}" of "{}" must be given; allowed: {})",
                   parameter.name, manifest.name, allowed_text(parameter));
  }
  // Checked even where it cannot matter: a misspelt value is a mistake anywhere.
  KILN_TRY_ASSIGN(std::string value, canonical_value(parameter, *given));
  if (parameter.default_value && !parameter.relevant_when.holds(earlier)) {
    return *parameter.default_value;
  }
  return value;
}

Status check_constraints(const Manifest& manifest, const ParameterList& parameters) {
  for (const Constraint& constraint : manifest.constraints) {
    if (!constraint.when.holds(parameters) || constraint.require.holds(parameters)) continue;
    std::vector<std::string> values;
    for (const auto& term : constraint.require.terms) {
      if (const std::string* value = find_value(parameters, term.name)) {
        values.push_back(fmt::format("parameter \"{}\" is {}", term.name, *value));
      }
    }
    const std::string when = constraint.when.terms.empty() ? "" : " with " + constraint.when.text();
    return failure(Code::invalid_argument, "{}; allowed{}: {} ({})", joined(values, " and "), when,
                   constraint.require.text(), constraint.reason);
  }
  return {};
}

}  // namespace

Result<Variant> Variant::make(std::shared_ptr<const Template> source, const ParameterList& given) {
  const Manifest& manifest = source->manifest;
  KILN_TRY(check_names(manifest, given));
  ParameterList parameters;
  for (const Parameter& parameter : manifest.parameters) {
    KILN_TRY_ASSIGN(std::string value,
                    settle(manifest, parameter, find_value(given, parameter.name), parameters));
    parameters.emplace_back(parameter.name, std::move(value));
  }
  KILN_TRY(check_constraints(manifest, parameters));
  Variant variant;
  variant.source_ = std::move(source);
  variant.parameters_ = std::move(parameters);
  return variant;
}

Result<Variant> Variant::parse(const Catalog& catalog, std::string_view spec) {
  KILN_TRY_ASSIGN(const Spec parsed, parse_spec(spec));
  KILN_TRY_ASSIGN(auto source, catalog.find(parsed.template_name));
  return make(std::move(source), parsed.parameters);
}

std::string Variant::spec() const {
  return Spec{manifest().name, parameters_}.text();
}

}  // namespace kiln
