// SPDX-License-Identifier: Apache-2.0
// kiln models: the variant lists of known models.
#include "templates/models.h"
#include "tools/command.h"
#include "tools/json_output.h"
#include "tools/table.h"

#include <memory>

namespace kiln {
namespace {

Json shape_json(const ModelVariant& variant) {
  Json shape = Json::object();
  for (const auto& [name, value] : variant.shape)
    shape[name] = value;
  return shape;
}

Json model_json(const Model& model) {
  Json variants = Json::array();
  for (const ModelVariant& variant : model.variants) {
    variants.push_back({{"spec", variant.spec},
                        {"site", variant.site},
                        {"per_forward", variant.per_forward},
                        {"shape", shape_json(variant)}});
  }
  return {
      {"name", model.name}, {"description", model.description}, {"variants", std::move(variants)}};
}

std::string shape_text(const ModelVariant& variant) {
  std::string text;
  for (const auto& [name, value] : variant.shape) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

std::string model_text(const Model& model) {
  Table table({{"SPEC"}, {"PER FORWARD", Table::Align::right}, {"SHAPE"}, {"SITE"}});
  for (const ModelVariant& variant : model.variants) {
    table.add_row(
        {variant.spec, std::to_string(variant.per_forward), shape_text(variant), variant.site});
  }
  return fmt::format("{}: {}\n\n{}", model.name, model.description, table.text());
}

std::string list_text(const std::vector<Model>& models) {
  Table table({{"MODEL"}, {"VARIANTS", Table::Align::right}, {"DESCRIPTION"}});
  for (const Model& model : models) {
    table.add_row({model.name, std::to_string(model.variants.size()), model.description});
  }
  return table.text();
}

Result<ExitCode> run(Invocation& invocation, const std::optional<std::string>& name) {
  std::vector<Model> models;
  if (name) {
    KILN_TRY_ASSIGN(models.emplace_back(), find_model(*name));
  } else {
    KILN_TRY_ASSIGN(models, list_models());
  }
  if (invocation.is_json) {
    Json list = Json::array();
    for (const Model& model : models)
      list.push_back(model_json(model));
    KILN_TRY(
        write_json(invocation.console, {{"schema", kJsonSchema}, {"models", std::move(list)}}));
    return ExitCode::done;
  }
  KILN_TRY(invocation.console.write_output(name ? model_text(models.front()) : list_text(models)));
  return ExitCode::done;
}

}  // namespace

RunCommand cmd_models(CLI::App& command) {
  const auto name = std::make_shared<std::optional<std::string>>();
  command.add_option("name", *name, "show this model's variants")->type_name("NAME");
  return [name](Invocation& invocation) { return run(invocation, *name); };
}

}  // namespace kiln
