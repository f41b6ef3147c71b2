// SPDX-License-Identifier: Apache-2.0
#include "templates/manifest.h"

#include "support/text.h"
#include "templates/json.h"
#include "templates/manifest_argument.h"
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
      KILN_TRY(object.require("values"));
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

Status read_tuning(JsonObject& object, TuningRule& rule) {
  KILN_TRY(object.optional("when", rule.when));
  KILN_TRY(object.require("set"));
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
  KILN_TRY(object.optional("per_block", rule.per_block));
  if (object.find("blocks_per_sm") != nullptr) {
    KILN_TRY(object.required("blocks_per_sm", rule.blocks_per_sm.emplace(1)));
  }
  if (object.find("max") == nullptr) return {};
  KILN_TRY(object.required("max", rule.max));
  if (rule.max >= 1) return {};
  return failure(Code::invalid_argument, "\"max\" is {}; allowed: 1 or more", rule.max);
}

Status read_launch(const Json& json, LaunchRule& launch) {
  KILN_TRY_ASSIGN(JsonObject object, JsonObject::open(json));
  KILN_TRY(object.required("block", launch.block));
  KILN_TRY(object.require("grid"));
  KILN_TRY(read_list(object, "grid", launch.grid, read_grid));
  KILN_TRY(object.optional("shared_bytes", launch.shared_bytes));
  return object.finish();
}

Status read_reference(const Json& json, ReferenceKernel& reference) {
  KILN_TRY_ASSIGN(JsonObject object, JsonObject::open(json));
  KILN_TRY(object.required("source", reference.source));
  KILN_TRY(object.required("entry", reference.entry));
  KILN_TRY(object.required("instantiation", reference.instantiation));
  KILN_TRY(object.require("launch"));
  KILN_TRY(read_launch(*object.find("launch"), reference.launch).with_context("launch"));
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

// true, false or a condition.
Status read_spills(JsonObject& object, std::optional<Condition>& spills) {
  const Json* json = object.find("allow_spills");
  if (json == nullptr) return {};
  if (json->is_object()) return object.required("allow_spills", spills);
  bool is_allowed = true;
  KILN_TRY(object.required("allow_spills", is_allowed));
  if (!is_allowed) spills.reset();
  return {};
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
  KILN_TRY(object.require("parameters"));
  KILN_TRY(read_list(object, "parameters", manifest.parameters, read_parameter));
  KILN_TRY(read_list(object, "constraints", manifest.constraints, read_constraint));
  KILN_TRY(read_list(object, "least_target", manifest.least_target, read_least_target));
  KILN_TRY(read_list(object, "tuning", manifest.tuning, read_tuning));
  KILN_TRY(object.require("arguments"));
  KILN_TRY(read_list(object, "arguments", manifest.arguments, read_kernel_argument));
  KILN_TRY(object.require("launch"));
  KILN_TRY(read_launch(*object.find("launch"), manifest.launch).with_context("launch"));
  KILN_TRY(read_spills(object, manifest.spills));
  if (const Json* reference = object.find("reference")) {
    KILN_TRY(read_reference(*reference, manifest.reference.emplace()).with_context("reference"));
  }
  return object.finish();
}

}  // namespace

const Parameter* Manifest::find_parameter(std::string_view parameter) const {
  const auto found =
      std::find_if(parameters.begin(), parameters.end(),
                   [&](const Parameter& candidate) { return candidate.name == parameter; });
  return found == parameters.end() ? nullptr : &*found;
}

std::string reference_name(std::string_view template_name) {
  return fmt::format("{}_reference", template_name);
}

Manifest reference_manifest(const Manifest& manifest) {
  Manifest reference = manifest;
  reference.name = reference_name(manifest.name);
  reference.description = fmt::format("What {} must equal, one step at a time", manifest.name);
  reference.source = manifest.reference->source;
  reference.entry = manifest.reference->entry;
  reference.instantiation = manifest.reference->instantiation;
  reference.launch = manifest.reference->launch;
  reference.tuning.clear();
  reference.spills = Condition{};
  reference.reference.reset();
  return reference;
}

std::string_view type_name(ParameterType type) {
  return name_of(kParameterTypes, type);
}

Result<Manifest> parse_manifest(std::string_view text) {
  KILN_TRY_ASSIGN(const Json document, parse_json(text));
  KILN_TRY_ASSIGN(JsonObject object, JsonObject::open(document));
  Manifest manifest;
  KILN_TRY(read_manifest(object, manifest));
  KILN_TRY(check_manifest(manifest));
  if (manifest.reference) {
    KILN_TRY(check_manifest(reference_manifest(manifest)).with_context("reference"));
  }
  return manifest;
}

}  // namespace kiln
