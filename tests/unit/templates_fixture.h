// SPDX-License-Identifier: Apache-2.0
#pragma once

// A small template that uses every part of the manifest format, for the tests of this layer.

#include "templates/catalog.h"
#include "templates/variant.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace kiln::test {

constexpr std::string_view kScaleManifest = R"json({
  "schema": 1,
  "name": "scale",
  "description": "Multiplies rows",
  "source": "scale.cuh",
  "entry": "user::scale",
  "instantiation": ["columns", "out", "mode", "fast", "factor", "vector", "unroll"],
  "parameters": [
    {"name": "columns", "type": "integer", "min": 8, "max": 4096, "multiple_of": 8,
     "description": "elements of a row"},
    {"name": "out", "type": "set", "values": ["bf16", "e4m3", "e5m2"], "cpp": "user::Out",
     "default": "e4m3", "description": "outputs"},
    {"name": "mode", "type": "choice", "values": ["up", "down"], "cpp": "user::Mode",
     "default": "up", "relevant_when": {"out": ["e4m3", "e5m2"]}, "description": "rounding"},
    {"name": "fast", "type": "boolean", "default": false, "description": "skip the check"},
    {"name": "factor", "type": "real", "min": 0, "max": 100, "default": 1.5,
     "description": "what to multiply by"},
    {"name": "vector", "type": "integer", "values": [1, 2, 4, 8], "default": 4,
     "description": "elements of one access"}
  ],
  "constraints": [
    {"when": {"vector": 8}, "require": {"columns": {"multiple_of": 16}},
     "reason": "two accesses a thread"}
  ],
  "least_target": [
    {"when": {"out": ["e4m3", "e5m2"]}, "target": "8.9", "reason": "FP8 conversion needs sm_89"},
    {"target": "8.0", "reason": "bf16 needs sm_80"}
  ],
  "tuning": [
    {"when": {"target": {"min": "9.0", "max": "9.0"}}, "set": {"threads": 512}},
    {"when": {"columns": {"max": 1024}}, "set": {"threads": 128, "unroll": 1}},
    {"set": {"threads": 256, "unroll": 4, "blocks_per_sm": 2}}
  ],
  "arguments": [
    {"name": "x", "type": "pointer", "dtype": "bf16", "vector": "vector", "description": "in"},
    {"name": "y", "type": "pointer", "dtype": "e4m3", "vector": 16, "output": true,
     "used_when": {"out": "e4m3"}, "description": "out"},
    {"name": "sums", "type": "pointer", "dtype": "i64", "used_when": {"out": "bf16"},
     "description": "sums"},
    {"name": "rows", "type": "int32", "min": 1, "description": "rows"},
    {"name": "stride", "type": "int64", "multiple_of": "vector", "description": "elements"},
    {"name": "eps", "type": "float32", "description": "added"}
  ],
  "launch": {
    "block": "threads",
    "grid": [{"over": "rows", "per_block": 4, "blocks_per_sm": "blocks_per_sm"},
             {"over": "stride", "per_block": "columns", "max": 100}],
    "shared_bytes": "columns"
  },
  "allow_spills": false
})json";

// `text` with its one occurrence of `from` replaced.
inline std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result(text);
  const std::size_t position = result.find(from);
  REQUIRE_MESSAGE(position != std::string::npos, from);
  REQUIRE_MESSAGE(result.find(from, position + 1) == std::string::npos, from);
  return result.replace(position, from.size(), to);
}

inline std::shared_ptr<const Template> template_of(std::string_view manifest) {
  auto parsed = parse_manifest(manifest);
  REQUIRE_MESSAGE(parsed.is_ok(), parsed.status().message());
  auto result = std::make_shared<Template>();
  result->manifest = *std::move(parsed);
  result->origin = "test";
  return result;
}

inline Variant variant_of(const std::shared_ptr<const Template>& source,
                          const ParameterList& given) {
  auto variant = Variant::make(source, given);
  REQUIRE_MESSAGE(variant.is_ok(), variant.status().message());
  return *std::move(variant);
}

}  // namespace kiln::test
