// SPDX-License-Identifier: Apache-2.0
#include "templates/manifest.h"

#include "support/text.h"
#include "templates/json.h"
#include "templates/manifest_check.h"
#include "templates/names.h"
#include "templates/parameter_value.h"

#include <algorithm>
#include <array>

namespace kiln {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kSchema = 1;

constexpr std::pair<std::string_view, ParameterType> kParameterTypes[] = {
    {"integer", ParameterType::integer}, {"real", ParameterType::real},
    {"boolean", ParameterType::boolean}, {"choice", ParameterType::choice},
    {"set", ParameterType::set},
};

constexpr std::pair<std::string_view, ArgumentKind> kArgumentKinds[] = {
    {"pointer", ArgumentKind::pointer},
    {"int32", ArgumentKind::int32},
    {"int64", ArgumentKind::int64},
    {"float32", ArgumentKind::float32},
};

template <typename T, std::size_t Count>
std::string_view name_of(const std::pair<std::string_view, T> (&names)[Count], T value) {
  const auto* found = std::find_if(std::begin(names), std::end(names),
                                   [&](const auto& entry) { return entry.second == value; });
  return found == std::end(names) ? "unknown" : found->first;
}

template <typename T, std::size_t Count>
Status required_name(JsonObject& object,
                     std::string_view member,
                     const std::pair<std::string_view, T> (&names)[Count],
                     T& value) {
  std::string text;
  KILN_TRY(object.required(member, text));
  std::vector<std::string_view> known;
  for (const auto& [name, candidate] : names) {
    if (name == text) {
      value = candidate;
      return {};
    }
    known.push_back(name);
  }
  return failure(Code::invalid_argument, "{} is {}; allowed: {}", member, in_quotes(text),
                 joined(known, ", "));
}

constexpr std::pair<std::string_view, std::int64_t> kDtypes[] = {
    {"bf16", 2}, {"f16", 2}, {"f32", 4}, {"e4m3", 1},
    {"e5m2", 1}, {"u8", 1},  {"i32", 4}, {"i64", 8},
};

// A count in a rule: a number, or the name of what gives it. Both are kept as text.
Status optional_count(JsonObject& object, std::string_view member, std::string& text) {
  const Json* json = object.find(member);
  if (json == nullptr) return {};
  if (!json->is_string()) {
    std::int64_t number = 0;
    KILN_TRY(object.required(member, number));
    text = fmt::format("{}", number);
    return {};
  }
  KILN_TRY(object.required(member, text));
  if (is_manifest_name(text)) return {};
  return failure(Code::invalid_argument, "{}: {} is neither a number nor a name", member,
                 in_quotes(text));
}

// Reads a list of objects, each with `read(object, element)`.
template <typename T, typename Read>
Status read_list(JsonObject& object, std::string_view member, std::vector<T>& list, Read read) {
  const Json* elements = object.find(member);
  if (elements == nullptr) return {};
  return for_each_element(*elements,
                          [&](const Json& element) -> Status {
                            KILN_TRY_ASSIGN(JsonObject fields, JsonObject::open(element));
                            KILN_TRY(read(fields, list.emplace_back()));
                            return fields.finish();
                          })
      .with_context(member);
}

Status require_member(JsonObject& object, std::string_view member) {
  if (object.find(member) != nullptr) return {};
  return failure(Code::invalid_argument, "member \"{}\" is missing", member);
}

Status read_values(JsonObject& object, Parameter& parameter) {
  const Json* values = object.find("values");
  if (values == nullptr) return {};
  if (values->empty()) return failure(Code::invalid_argument, "values: lists no value");
  if (parameter.type != ParameterType::integer) return object.required("values", parameter.values);
  return for_each_element(*values,
                          [&](const Json& element) -> Status {
                            std::int64_t value = 0;
                            KILN_TRY(decode(element, value));
                            parameter.values.push_back(fmt::format("{}", value));
                            return {};
                          })
      .with_context("values");
}

bool fits(const Json& json, ParameterType type) {
  switch (type) {
    case ParameterType::integer:
      return json.is_number_integer();
    case ParameterType::real:
      return json.is_number();
    case ParameterType::boolean:
      return json.is_boolean();
    case ParameterType::choice:
    case ParameterType::set:
      break;
  }
  return json.is_string();
}

Status read_default(JsonObject& object, Parameter& parameter) {
  const Json* value = object.find("default");
  if (value == nullptr) return {};
  if (!fits(*value, parameter.type)) {
    return failure(Code::invalid_argument, "default: is not of the parameter's type");
  }
  KILN_TRY_ASSIGN(const std::string text, scalar_text(*value));
  auto canonical = canonical_value(parameter, text);
  if (!canonical.is_ok()) return canonical.status().with_context("default");
  parameter.default_value = *std::move(canonical);
  return {};
}

Status read_parameter(JsonObject& object, Parameter& parameter) {
  KILN_TRY(object.required("name", parameter.name));
  KILN_TRY(required_name(object, "type", kParameterTypes, parameter.type));
  KILN_TRY(object.required("description", parameter.description));
  KILN_TRY(object.optional("relevant_when", parameter.relevant_when));
  switch (parameter.type) {
    case ParameterType::integer:
      KILN_TRY(read_values(object, parameter));
      KILN_TRY(object.optional("min", parameter.min));
      KILN_TRY(object.optional("max", parameter.max));
      KILN_TRY(object.optional("multiple_of", parameter.multiple_of));
      break;
    case ParameterType::real:
      KILN_TRY(object.optional("min", parameter.real_min));
      KILN_TRY(object.optional("max", parameter.real_max));
      break;
    case ParameterType::boolean:
      break;
    case ParameterType::choice:
    case ParameterType::set:
      KILN_TRY(require_member(object, "values"));
      KILN_TRY(read_values(object, parameter));
      KILN_TRY(object.optional("cpp", parameter.cpp));
      break;
  }
  // Before the default: it is checked against these.
  if (parameter.multiple_of && *parameter.multiple_of < 1) {
    return failure(Code::invalid_argument, "\"multiple_of\" is {}; allowed: 1 or more",
                   *parameter.multiple_of);
  }
  return read_default(object, parameter);
}

Status read_argument(JsonObject& object, KernelArgument& argument) {
  KILN_TRY(object.required("name", argument.name));
  KILN_TRY(required_name(object, "type", kArgumentKinds, argument.kind));
  KILN_TRY(object.required("description", argument.description));
  KILN_TRY(object.optional("used_when", argument.used_when));
  switch (argument.kind) {
    case ArgumentKind::pointer:
      KILN_TRY(object.required("dtype", argument.dtype));
      KILN_TRY(object.optional("output", argument.is_output));
      KILN_TRY(optional_count(object, "vector", argument.vector));
      break;
    case ArgumentKind::int32:
    case ArgumentKind::int64:
      KILN_TRY(object.optional("min", argument.min));
      KILN_TRY(optional_count(object, "multiple_of", argument.multiple_of));
      break;
    case ArgumentKind::float32:
      break;
  }
  return {};
}

Status read_tuning(JsonObject& object, TuningRule& rule) {
  KILN_TRY(object.optional("when", rule.when));
  KILN_TRY(require_member(object, "set"));
  const Json& values = *object.find("set");
  if (!values.is_object() || values.empty()) {
    return failure(Code::invalid_argument, "set: must be an object with at least one member");
  }
  for (auto value = values.begin(); value != values.end(); ++value) {
    auto& [name, number] = rule.values.emplace_back(value.key(), 0);
    KILN_TRY(decode(value.value(), number).with_context(name).with_context("set"));
  }
  return {};
}

Status read_grid(JsonObject& object, GridRule& rule) {
  KILN_TRY(object.required("over", rule.over));
  KILN_TRY(optional_count(object, "per_block", rule.per_block));
  KILN_TRY(optional_count(object, "blocks_per_sm", rule.blocks_per_sm));
  if (object.find("max") == nullptr) return {};
  KILN_TRY(object.required("max", rule.max));
  if (rule.max >= 1) return {};
  return failure(Code::invalid_argument, "\"max\" is {}; allowed: 1 or more", rule.max);
}

Status read_launch(const Json& json, LaunchRule& launch) {
  KILN_TRY_ASSIGN(JsonObject object, JsonObject::open(json));
  KILN_TRY(require_member(object, "block"));
  KILN_TRY(optional_count(object, "block", launch.block));
  KILN_TRY(require_member(object, "grid"));
  KILN_TRY(read_list(object, "grid", launch.grid, read_grid));
  KILN_TRY(optional_count(object, "shared_bytes", launch.shared_bytes));
  return object.finish();
}

Status read_constraint(JsonObject& object, Constraint& constraint) {
  KILN_TRY(object.optional("when", constraint.when));
  KILN_TRY(object.required("require", constraint.require));
  return object.required("reason", constraint.reason);
}

Status read_least_target(JsonObject& object, TargetRule& rule) {
  KILN_TRY(object.optional("when", rule.when));
  KILN_TRY(object.required("target", rule.least));
  return object.required("reason", rule.reason);
}

Status read_manifest(JsonObject& object, Manifest& manifest) {
  std::int64_t schema = 0;
  KILN_TRY(object.required("schema", schema));
  if (schema != kSchema) {
    return failure(Code::invalid_argument, "schema is {}; allowed: {}", schema, kSchema);
  }
  KILN_TRY(object.required("name", manifest.name));
  KILN_TRY(object.required("description", manifest.description));
  KILN_TRY(object.required("source", manifest.source));
  KILN_TRY(object.required("entry", manifest.entry));
  KILN_TRY(object.required("instantiation", manifest.instantiation));
  KILN_TRY(require_member(object, "parameters"));
  KILN_TRY(read_list(object, "parameters", manifest.parameters, read_parameter));
  KILN_TRY(read_list(object, "constraints", manifest.constraints, read_constraint));
  KILN_TRY(read_list(object, "least_target", manifest.least_target, read_least_target));
  KILN_TRY(read_list(object, "tuning", manifest.tuning, read_tuning));
  KILN_TRY(require_member(object, "arguments"));
  KILN_TRY(read_list(object, "arguments", manifest.arguments, read_argument));
  KILN_TRY(require_member(object, "launch"));
  KILN_TRY(read_launch(*object.find("launch"), manifest.launch).with_context("launch"));
  KILN_TRY(object.optional("allow_spills", manifest.allow_spills));
  return object.finish();
}

}  // namespace

const Parameter* Manifest::find_parameter(std::string_view parameter) const {
  const auto found =
      std::find_if(parameters.begin(), parameters.end(),
                   [&](const Parameter& candidate) { return candidate.name == parameter; });
  return found == parameters.end() ? nullptr : &*found;
}

std::int64_t dtype_bytes(std::string_view dtype) {
  for (const auto& [name, bytes] : kDtypes) {
    if (name == dtype) return bytes;
  }
  return 0;
}

std::string_view type_name(ParameterType type) {
  return name_of(kParameterTypes, type);
}

std::string_view kind_name(ArgumentKind kind) {
  return name_of(kArgumentKinds, kind);
}

Result<Manifest> parse_manifest(std::string_view text) {
  KILN_TRY_ASSIGN(const Json document, parse_json(text));
  KILN_TRY_ASSIGN(JsonObject object, JsonObject::open(document));
  Manifest manifest;
  KILN_TRY(read_manifest(object, manifest));
  KILN_TRY(check_manifest(manifest));
  return manifest;
}

}  // namespace kiln
