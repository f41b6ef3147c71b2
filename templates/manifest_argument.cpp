// SPDX-License-Identifier: Apache-2.0
#include "templates/manifest_argument.h"

#include <algorithm>
#include <array>

namespace kiln {
namespace {

constexpr std::pair<std::string_view, ArgumentKind> kArgumentKinds[] = {
    {"pointer", ArgumentKind::pointer},
    {"int32", ArgumentKind::int32},
    {"int64", ArgumentKind::int64},
    {"float32", ArgumentKind::float32},
};

constexpr std::pair<std::string_view, std::int64_t> kDtypes[] = {
    {"bf16", 2}, {"f16", 2}, {"f32", 4}, {"e4m3", 1},
    {"e5m2", 1}, {"u8", 1},  {"i32", 4}, {"i64", 8},
};

Status read_dtype(JsonObject& object, KernelArgument& argument) {
  const nlohmann::json* json = object.find("dtype");
  if (json != nullptr && json->is_array()) {
    return read_list(object, "dtype", argument.dtype,
                     [](JsonObject& fields, DtypeRule& rule) -> Status {
                       KILN_TRY(fields.optional("when", rule.when));
                       return fields.required("dtype", rule.dtype);
                     });
  }
  return object.required("dtype", argument.dtype.emplace_back().dtype);
}

// A list of extents, or of rules with such a list each.
Status read_shape(JsonObject& object, KernelArgument& argument) {
  const nlohmann::json* json = object.find("shape");
  if (json == nullptr) return {};
  if (json->is_array() && !json->empty() && json->front().is_object()) {
    return read_list(object, "shape", argument.shape,
                     [](JsonObject& fields, ShapeRule& rule) -> Status {
                       KILN_TRY(fields.optional("when", rule.when));
                       return fields.required("shape", rule.extents);
                     });
  }
  return object.required("shape", argument.shape.emplace_back().extents);
}

}  // namespace

Status read_kernel_argument(JsonObject& object, KernelArgument& argument) {
  KILN_TRY(object.required("name", argument.name));
  KILN_TRY(required_name(object, "type", kArgumentKinds, argument.kind));
  KILN_TRY(object.required("description", argument.description));
  KILN_TRY(object.optional("used_when", argument.used_when));
  switch (argument.kind) {
    case ArgumentKind::pointer:
      KILN_TRY(read_dtype(object, argument));
      KILN_TRY(object.optional("output", argument.is_output));
      KILN_TRY(object.optional("positive", argument.is_positive));
      KILN_TRY(object.optional("in_place_of", argument.in_place_of));
      KILN_TRY(object.optional("vector", argument.vector));
      KILN_TRY(read_shape(object, argument));
      KILN_TRY(object.optional("strides", argument.strides));
      break;
    case ArgumentKind::int32:
    case ArgumentKind::int64:
      KILN_TRY(object.optional("min", argument.min));
      KILN_TRY(object.optional("multiple_of", argument.multiple_of));
      KILN_TRY(object.optional("example", argument.example));
      break;
    case ArgumentKind::float32:
      break;
  }
  return {};
}

std::int64_t dtype_bytes(std::string_view dtype) {
  for (const auto& [name, bytes] : kDtypes) {
    if (name == dtype) return bytes;
  }
  return 0;
}

std::string_view kind_name(ArgumentKind kind) {
  return name_of(kArgumentKinds, kind);
}

}  // namespace kiln
