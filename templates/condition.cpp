// SPDX-License-Identifier: Apache-2.0
#include "templates/condition.h"

#include "support/text.h"
#include "templates/json.h"
#include "templates/names.h"
#include "templates/parameter_value.h"

#include <algorithm>

namespace kiln {
namespace {

using Term = Condition::Term;

constexpr std::string_view kTarget = "target";

Result<std::vector<std::string>> parse_values(const nlohmann::json& json) {
  std::vector<std::string> values;
  if (!json.is_array()) {
    KILN_TRY_ASSIGN(values.emplace_back(), scalar_text(json));
    return values;
  }
  if (json.empty()) return failure(Code::invalid_argument, "lists no value");
  KILN_TRY(for_each_element(json, [&](const auto& element) -> Status {
    KILN_TRY_ASSIGN(values.emplace_back(), scalar_text(element));
    return {};
  }));
  return values;
}

Status parse_bounds(const nlohmann::json& json, Term& term) {
  KILN_TRY_ASSIGN(JsonObject object, JsonObject::open(json));
  if (term.name == kTarget) {
    KILN_TRY(object.optional("min", term.target_min));
    KILN_TRY(object.optional("max", term.target_max));
  } else {
    KILN_TRY(object.optional("min", term.min));
    KILN_TRY(object.optional("max", term.max));
    KILN_TRY(object.optional("multiple_of", term.multiple_of));
  }
  KILN_TRY(object.finish());
  if (json.empty()) return failure(Code::invalid_argument, "states no bound");
  if (term.multiple_of && *term.multiple_of < 1) {
    return failure(Code::invalid_argument, "\"multiple_of\" is {}; allowed: 1 or more",
                   *term.multiple_of);
  }
  if ((term.min && term.max && *term.min > *term.max) ||
      (term.target_min && term.target_max && *term.target_min > *term.target_max)) {
    return failure(Code::invalid_argument, R"("min" is above "max")");
  }
  return {};
}

Result<Term> parse_term(const std::string& name, const nlohmann::json& json) {
  if (!is_manifest_name(name)) {
    return failure(Code::invalid_argument, "{} is no parameter name", in_quotes(name));
  }
  Term term;
  term.name = name;
  if (json.is_object()) {
    KILN_TRY(parse_bounds(json, term).with_context(name));
    return term;
  }
  auto values = parse_values(json);
  if (!values.is_ok()) return values.status().with_context(name);
  term.any_of = *std::move(values);
  if (name != kTarget) return term;
  for (const std::string& value : term.any_of) {
    ComputeCapability capability;
    KILN_TRY(decode(nlohmann::json(value), capability).with_context(name));
  }
  return term;
}

bool contains_any(std::string_view value, const std::vector<std::string>& wanted) {
  const std::vector<std::string_view> members = split(value, '+');
  return std::any_of(wanted.begin(), wanted.end(), [&](const std::string& candidate) {
    return value == candidate ||
           std::find(members.begin(), members.end(), candidate) != members.end();
  });
}

bool target_holds(const Term& term, const std::optional<ComputeCapability>& capability) {
  if (!capability) return false;
  if (term.target_min && *capability < *term.target_min) return false;
  if (term.target_max && *capability > *term.target_max) return false;
  return term.any_of.empty() || contains_any(capability->text(), term.any_of);
}

bool term_holds(const Term& term,
                const ParameterList& parameters,
                const std::optional<ComputeCapability>& capability) {
  if (term.name == kTarget) return target_holds(term, capability);
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const auto& entry) { return entry.first == term.name; });
  if (found == parameters.end()) return false;
  if (!term.any_of.empty() && !contains_any(found->second, term.any_of)) return false;
  if (!term.min && !term.max && !term.multiple_of) return true;
  const std::optional<std::int64_t> value = parse_integer(found->second);
  return value && (!term.min || *value >= *term.min) && (!term.max || *value <= *term.max) &&
         (!term.multiple_of || *value % *term.multiple_of == 0);
}

std::string bounds_text(const std::optional<std::string>& min,
                        const std::optional<std::string>& max) {
  if (min && max) return fmt::format(" from {} to {}", *min, *max);
  if (min) return fmt::format(" at least {}", *min);
  if (max) return fmt::format(" at most {}", *max);
  return "";
}

std::string term_text(const Term& term) {
  std::string text = term.name;
  if (!term.any_of.empty()) text += " " + joined(term.any_of, " or ");
  if (term.multiple_of) text += fmt::format(" a multiple of {}", *term.multiple_of);
  const auto integer = [](std::int64_t value) { return fmt::format("{}", value); };
  std::optional<std::string> min, max;
  if (term.min) min = integer(*term.min);
  if (term.max) max = integer(*term.max);
  if (term.target_min) min = term.target_min->text();
  if (term.target_max) max = term.target_max->text();
  return text + bounds_text(min, max);
}

}  // namespace

bool Condition::holds(const ParameterList& parameters,
                      const std::optional<ComputeCapability>& capability) const {
  return std::all_of(terms.begin(), terms.end(),
                     [&](const Term& term) { return term_holds(term, parameters, capability); });
}

std::string Condition::text() const {
  std::vector<std::string> texts;
  for (const Term& term : terms)
    texts.push_back(term_text(term));
  return joined(texts, " and ");
}

Result<Condition> parse_condition(const nlohmann::json& json) {
  if (!json.is_object()) return failure(Code::invalid_argument, "must be an object");
  Condition condition;
  for (auto member = json.begin(); member != json.end(); ++member) {
    KILN_TRY_ASSIGN(condition.terms.emplace_back(), parse_term(member.key(), member.value()));
  }
  return condition;
}

Status decode(const nlohmann::json& json, Condition& condition) {
  KILN_TRY_ASSIGN(condition, parse_condition(json));
  return {};
}

}  // namespace kiln
