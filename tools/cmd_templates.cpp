// SPDX-License-Identifier: Apache-2.0
// kiln templates: what can be asked for, and with which parameters.
#include "support/text.h"
#include "templates/catalog.h"
#include "templates/parameter_value.h"
#include "tools/command.h"
#include "tools/json_output.h"
#include "tools/table.h"

#include <memory>

namespace kiln {
namespace {

Json parameter_json(const Parameter& parameter) {
  Json json = {{"name", parameter.name},
               {"type", type_name(parameter.type)},
               {"description", parameter.description},
               {"default", json_or_null(parameter.default_value)},
               {"allowed", allowed_text(parameter)}};
  if (!parameter.values.empty()) json["values"] = parameter.values;
  if (parameter.min) json["min"] = *parameter.min;
  if (parameter.max) json["max"] = *parameter.max;
  if (parameter.multiple_of) json["multiple_of"] = *parameter.multiple_of;
  if (parameter.real_min) json["min"] = *parameter.real_min;
  if (parameter.real_max) json["max"] = *parameter.real_max;
  if (!parameter.relevant_when.terms.empty()) {
    json["relevant_when"] = parameter.relevant_when.text();
  }
  return json;
}

// "bf16", or "f32 where recipe is wan, else dtype".
std::string dtype_text(const KernelArgument& argument) {
  std::string text;
  for (const DtypeRule& rule : argument.dtype) {
    if (!text.empty()) text += ", else ";
    text += rule.dtype;
    if (!rule.when.terms.empty()) text += " where " + rule.when.text();
  }
  return text;
}

std::vector<std::string> texts_of(const std::vector<Extent>& extents) {
  std::vector<std::string> texts;
  texts.reserve(extents.size());
  for (const Extent& extent : extents)
    texts.push_back(extent.text());
  return texts;
}

// "[rows, hidden]", or "[heads*head_dim] where qk_norm is all, else [head_dim]".
std::string shape_text(const KernelArgument& argument) {
  std::string text;
  for (const ShapeRule& rule : argument.shape) {
    if (!text.empty()) text += ", else ";
    text += fmt::format("[{}]", joined(texts_of(rule.extents), ", "));
    if (!rule.when.terms.empty()) text += " where " + rule.when.text();
  }
  return text;
}

Json argument_json(const KernelArgument& argument) {
  Json json = {{"name", argument.name},
               {"kind", kind_name(argument.kind)},
               {"description", argument.description}};
  if (argument.kind == ArgumentKind::pointer) {
    json["dtype"] = dtype_text(argument);
    json["is_output"] = argument.is_output;
    json["vector"] = argument.vector.text();
    json["shape"] = shape_text(argument);
    json["strides"] = texts_of(argument.strides);
  } else if (argument.kind != ArgumentKind::float32) {
    json["min"] = json_or_null(argument.min);
    json["multiple_of"] = argument.multiple_of.text();
  }
  if (!argument.used_when.terms.empty()) json["used_when"] = argument.used_when.text();
  return json;
}

Json template_json(const Template& source) {
  const Manifest& manifest = source.manifest;
  Json parameters = Json::array();
  for (const Parameter& parameter : manifest.parameters) {
    parameters.push_back(parameter_json(parameter));
  }
  Json arguments = Json::array();
  for (const KernelArgument& argument : manifest.arguments) {
    arguments.push_back(argument_json(argument));
  }
  Json constraints = Json::array();
  for (const Constraint& constraint : manifest.constraints) {
    constraints.push_back({{"when", constraint.when.text()},
                           {"require", constraint.require.text()},
                           {"reason", constraint.reason}});
  }
  Json least_target = Json::array();
  for (const TargetRule& rule : manifest.least_target) {
    least_target.push_back({{"when", rule.when.text()},
                            {"compute_capability", rule.least.text()},
                            {"reason", rule.reason}});
  }
  return {{"name", manifest.name},
          {"description", manifest.description},
          {"origin", source.origin},
          {"parameters", std::move(parameters)},
          {"constraints", std::move(constraints)},
          {"least_target", std::move(least_target)},
          {"arguments", std::move(arguments)}};
}

std::string parameters_text(const Manifest& manifest) {
  Table table({{"PARAMETER"}, {"TYPE"}, {"DEFAULT"}, {"ALLOWED"}, {"DESCRIPTION"}});
  for (const Parameter& parameter : manifest.parameters) {
    table.add_row({parameter.name, std::string(type_name(parameter.type)),
                   parameter.default_value.value_or("(required)"), allowed_text(parameter),
                   parameter.description});
  }
  return table.text();
}

std::string arguments_text(const Manifest& manifest) {
  Table table({{"ARGUMENT"}, {"KIND"}, {"USED WHEN"}, {"DESCRIPTION"}});
  for (const KernelArgument& argument : manifest.arguments) {
    std::string kind(kind_name(argument.kind));
    if (argument.kind == ArgumentKind::pointer) {
      kind = fmt::format("{} {}{}", argument.is_output ? "out" : "in", dtype_text(argument), " *");
    }
    table.add_row({argument.name, kind,
                   argument.used_when.terms.empty() ? "always" : argument.used_when.text(),
                   argument.description});
  }
  return table.text();
}

std::string rules_text(const Manifest& manifest) {
  std::string text;
  const auto when = [](const Condition& condition) {
    return condition.terms.empty() ? std::string() : fmt::format("where {}: ", condition.text());
  };
  for (const TargetRule& rule : manifest.least_target) {
    text +=
        fmt::format("least target: {}{} ({})\n", when(rule.when), rule.least.text(), rule.reason);
  }
  for (const Constraint& constraint : manifest.constraints) {
    text += fmt::format("constraint: {}{} ({})\n", when(constraint.when), constraint.require.text(),
                        constraint.reason);
  }
  return text;
}

std::string template_text(const Template& source) {
  const Manifest& manifest = source.manifest;
  std::string text = fmt::format("{}: {}\norigin: {}\n{}\n{}", manifest.name, manifest.description,
                                 source.origin, rules_text(manifest), parameters_text(manifest));
  if (!manifest.arguments.empty()) text += '\n' + arguments_text(manifest);
  return text;
}

std::string list_text(const std::vector<std::shared_ptr<const Template>>& templates) {
  Table table({{"TEMPLATE"}, {"PARAMETERS"}, {"ORIGIN"}, {"DESCRIPTION"}});
  for (const auto& source : templates) {
    std::vector<std::string_view> names;
    for (const Parameter& parameter : source->manifest.parameters)
      names.push_back(parameter.name);
    table.add_row(
        {source->manifest.name, joined(names, ","), source->origin, source->manifest.description});
  }
  return table.text();
}

Result<ExitCode> run(Invocation& invocation, const std::optional<std::string>& name) {
  KILN_TRY_ASSIGN(const Catalog catalog, Catalog::open(invocation.environment.template_path));
  std::vector<std::shared_ptr<const Template>> templates;
  if (name) {
    KILN_TRY_ASSIGN(templates.emplace_back(), catalog.find(*name));
  } else {
    KILN_TRY_ASSIGN(templates, catalog.templates());
  }
  if (invocation.is_json) {
    Json list = Json::array();
    for (const auto& source : templates)
      list.push_back(template_json(*source));
    KILN_TRY(
        write_json(invocation.console, {{"schema", kJsonSchema}, {"templates", std::move(list)}}));
    return ExitCode::done;
  }
  KILN_TRY(invocation.console.write_output(name ? template_text(*templates.front())
                                                : list_text(templates)));
  return ExitCode::done;
}

}  // namespace

RunCommand cmd_templates(CLI::App& command) {
  const auto name = std::make_shared<std::optional<std::string>>();
  command.add_option("name", *name, "show this template's parameters and arguments")
      ->type_name("NAME");
  return [name](Invocation& invocation) { return run(invocation, *name); };
}

}  // namespace kiln
