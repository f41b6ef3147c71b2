// SPDX-License-Identifier: Apache-2.0
#include "jit/key.h"

#include "support/text.h"

#include <nlohmann/json.hpp>

#include <array>
#include <optional>

namespace kiln {
namespace {

using Json = nlohmann::json;

constexpr std::array kMembers = {"schema",          "template", "sources", "parameters",
                                 "name_expression", "target",   "options", "toolchain"};

void hash_count(Hasher& hasher, std::string_view tag, std::size_t count) {
  hasher.field(tag, fmt::format("{}", count));
}

// Lists are preceded by their length, so that the end of one cannot pass for the start of the next.
void hash_request(Hasher& hasher, const KeyFields& fields) {
  hasher.field("template", fields.template_name);
  hash_count(hasher, "sources", fields.sources.size());
  for (const auto& [name, digest] : fields.sources) {
    hasher.field("source_name", name);
    hasher.field("source_sha256", digest.hex());
  }
  hash_count(hasher, "parameters", fields.parameters.size());
  for (const auto& [name, value] : fields.parameters) {
    hasher.field("parameter_name", name);
    hasher.field("parameter_value", value);
  }
  hasher.field("name_expression", fields.name_expression);
  hasher.field("target", fields.target);
}

// JSON text is UTF-8; a string of other bytes (a file name may have them) is kept as {"hex": "…"}.
Json to_value(const std::string& text) {
  try {
    Json value = text;
    [[maybe_unused]] const std::string encoded = value.dump();
    return value;
  } catch (const Json::exception&) {
    return Json::object({{"hex", to_hex(text)}});
  }
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::optional<std::string> from_value(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object() || value.size() != 1 || !value.contains("hex")) return std::nullopt;
  const Json& member = value.at("hex");
  if (!member.is_string()) return std::nullopt;
  const auto hex = member.get<std::string>();
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string text;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const int high = hex_digit(hex[i]);
    const int low = hex_digit(hex[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    text.push_back(static_cast<char>(high * 16 + low));
  }
  return text;
}

Status read_text(const Json& object, const char* name, std::string& out) {
  auto text = from_value(object.at(name));
  if (!text) return failure(Code::corrupt, "key fields: \"{}\" is no string", name);
  out = *std::move(text);
  return {};
}

// A list of pairs of strings.
Result<ParameterList> read_pairs(const Json& object, const char* name) {
  const Json& list = object.at(name);
  if (!list.is_array()) return failure(Code::corrupt, "key fields: \"{}\" is no list", name);
  ParameterList pairs;
  for (const Json& item : list) {
    if (!item.is_array() || item.size() != 2) {
      return failure(Code::corrupt, "key fields: an element of \"{}\" is no pair", name);
    }
    auto first = from_value(item.at(0));
    auto second = from_value(item.at(1));
    if (!first || !second) {
      return failure(Code::corrupt, "key fields: \"{}\" has an element that is no string", name);
    }
    pairs.emplace_back(*std::move(first), *std::move(second));
  }
  return pairs;
}

Status check_members(const Json& object) {
  if (!object.is_object()) return failure(Code::corrupt, "key fields are no JSON object");
  const auto schema = object.find("schema");
  if (schema == object.end() || !schema->is_number_integer()) {
    return failure(Code::corrupt, "key fields have no schema number");
  }
  if (*schema != kKeySchema) {
    return failure(Code::unsupported, "key fields have schema {}; this version reads {}",
                   schema->dump(), kKeySchema);
  }
  for (const char* member : kMembers) {
    if (!object.contains(member)) return failure(Code::corrupt, "key fields lack \"{}\"", member);
  }
  if (object.size() != kMembers.size()) {
    return failure(Code::corrupt, "key fields have {} members; {} are known", object.size(),
                   kMembers.size());
  }
  return {};
}

Result<KeyFields> read_fields(const Json& object) {
  KILN_TRY(check_members(object));
  KeyFields fields;
  KILN_TRY(read_text(object, "template", fields.template_name));
  KILN_TRY_ASSIGN(const ParameterList sources, read_pairs(object, "sources"));
  for (const auto& [name, hex] : sources) {
    const auto digest = Digest::from_hex(hex);
    if (!digest.is_ok() || digest->hex() != hex) {
      return failure(Code::corrupt, "key fields: digest {} of source {} is damaged", in_quotes(hex),
                     in_quotes(name));
    }
    fields.sources.emplace_back(name, *digest);
  }
  KILN_TRY_ASSIGN(fields.parameters, read_pairs(object, "parameters"));
  KILN_TRY(read_text(object, "name_expression", fields.name_expression));
  KILN_TRY(read_text(object, "target", fields.target));
  const Json& options = object.at("options");
  if (!options.is_array()) return failure(Code::corrupt, "key fields: \"options\" is no list");
  for (const Json& option : options) {
    auto text = from_value(option);
    if (!text) return failure(Code::corrupt, "key fields: an option is no string");
    fields.options.push_back(*std::move(text));
  }
  KILN_TRY(read_text(object, "toolchain", fields.toolchain));
  return fields;
}

}  // namespace

Digest KeyFields::key() const {
  Hasher hasher;
  hasher.field("kiln key", fmt::format("{}", kKeySchema));
  hash_request(hasher, *this);
  hash_count(hasher, "options", options.size());
  for (const std::string& option : options)
    hasher.field("option", option);
  hasher.field("toolchain", toolchain);
  return hasher.finish();
}

Digest KeyFields::request() const {
  Hasher hasher;
  hasher.field("kiln request", fmt::format("{}", kKeySchema));
  hash_request(hasher, *this);
  return hasher.finish();
}

std::string KeyFields::to_json() const {
  Json object = {{"schema", kKeySchema},
                 {"template", to_value(template_name)},
                 {"sources", Json::array()},
                 {"parameters", Json::array()},
                 {"name_expression", to_value(name_expression)},
                 {"target", to_value(target)},
                 {"options", Json::array()},
                 {"toolchain", to_value(toolchain)}};
  for (const auto& [name, digest] : sources) {
    object["sources"].push_back(Json::array({to_value(name), digest.hex()}));
  }
  for (const auto& [name, value] : parameters) {
    object["parameters"].push_back(Json::array({to_value(name), to_value(value)}));
  }
  for (const std::string& option : options)
    object["options"].push_back(to_value(option));
  // Members come out sorted by name and without spaces: one text for equal fields.
  return object.dump();
}

Result<KeyFields> KeyFields::from_json(std::string_view json) {
  const Json object = Json::parse(json, nullptr, false);
  if (object.is_discarded()) return failure(Code::corrupt, "key fields are no JSON");
  return read_fields(object);
}

KeyFields request_fields(const Variant& variant,
                         const Specialization& specialization,
                         const Target& target) {
  const Template& source = variant.source();
  KeyFields fields;
  fields.template_name = source.manifest.name;
  fields.sources.emplace_back(source.sources.main.name, sha256(source.sources.main.text));
  for (const SourceText& include : source.sources.includes) {
    fields.sources.emplace_back(include.name, sha256(include.text));
  }
  fields.parameters = variant.parameters();
  fields.name_expression = specialization.name_expression;
  fields.target = target.text();
  return fields;
}

}  // namespace kiln
