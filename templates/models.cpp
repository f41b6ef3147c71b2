// SPDX-License-Identifier: Apache-2.0
#include "templates/models.h"

#include "support/text.h"
#include "templates/embedded.h"
#include "templates/json.h"
#include "templates/names.h"
#include "templates/spec.h"

#include <algorithm>

namespace kiln {
namespace {

constexpr std::int64_t kSchema = 1;

Status check_at_least_one(std::string_view what, std::int64_t value) {
  if (value >= 1) return {};
  return failure(Code::invalid_argument, "{} is {}; allowed: 1 or more", what, value);
}

Status read_shape(const nlohmann::json& json, ModelVariant& variant) {
  KILN_TRY(JsonObject::open(json).status());
  for (auto member = json.begin(); member != json.end(); ++member) {
    if (!is_manifest_name(member.key())) {
      return failure(Code::invalid_argument, "{} is no argument name", in_quotes(member.key()));
    }
    auto& [name, value] = variant.shape.emplace_back(member.key(), 0);
    KILN_TRY(decode(member.value(), value).with_context(name));
    KILN_TRY(check_at_least_one(name, value));
  }
  return {};
}

Status read_variant(const nlohmann::json& json, ModelVariant& variant) {
  KILN_TRY_ASSIGN(JsonObject object, JsonObject::open(json));
  KILN_TRY(object.required("spec", variant.spec));
  KILN_TRY(parse_spec(variant.spec).status());
  KILN_TRY(object.required("site", variant.site));
  KILN_TRY(object.required("per_forward", variant.per_forward));
  KILN_TRY(check_at_least_one("per_forward", variant.per_forward));
  if (const nlohmann::json* shape = object.find("shape")) {
    KILN_TRY(read_shape(*shape, variant).with_context("shape"));
  }
  return object.finish();
}

Result<Model> parse_model(std::string_view text) {
  KILN_TRY_ASSIGN(const nlohmann::json document, parse_json(text));
  KILN_TRY_ASSIGN(JsonObject object, JsonObject::open(document));
  std::int64_t schema = 0;
  KILN_TRY(object.required("schema", schema));
  if (schema != kSchema) {
    return failure(Code::invalid_argument, "schema is {}; allowed: {}", schema, kSchema);
  }
  Model model;
  KILN_TRY(object.required("name", model.name));
  KILN_TRY(object.required("description", model.description));
  if (const nlohmann::json* variants = object.find("variants")) {
    KILN_TRY(for_each_element(*variants, [&](const auto& variant) {
               return read_variant(variant, model.variants.emplace_back());
             }).with_context("variants"));
  }
  if (model.variants.empty()) return failure(Code::invalid_argument, "lists no variants");
  KILN_TRY(object.finish());
  return model;
}

}  // namespace

Result<std::vector<Model>> list_models() {
  std::vector<Model> models;
  for (const EmbeddedFile& file : embedded_models()) {
    auto model = parse_model(file.text);
    if (!model.is_ok()) return model.status().with_context(file.name);
    if (fmt::format("{}.json", model->name) != file.name) {
      return failure(Code::invalid_argument, "{}: the name is {}", file.name,
                     in_quotes(model->name));
    }
    models.push_back(*std::move(model));
  }
  std::sort(models.begin(), models.end(),
            [](const Model& a, const Model& b) { return a.name < b.name; });
  return models;
}

Result<Model> find_model(std::string_view name) {
  KILN_TRY_ASSIGN(std::vector<Model> models, list_models());
  std::vector<std::string_view> names;
  for (Model& model : models) {
    if (model.name == name) return std::move(model);
    names.push_back(model.name);
  }
  return failure(Code::not_found, "model {} is not known; known: {}", in_quotes(name),
                 joined(names, ", "));
}

}  // namespace kiln
