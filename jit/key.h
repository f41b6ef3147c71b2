// SPDX-License-Identifier: Apache-2.0
#pragma once

// The key of a variant: everything that can change the compiled code, and nothing else. The golden
// vectors in tests/unit/test_jit_key.cpp pin it; a change of form must raise kKeySchema.

#include "jit/target.h"
#include "support/digest.h"
#include "templates/variant.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln {

constexpr int kKeySchema = 1;

struct KeyFields {
  std::string template_name;
  std::vector<std::pair<std::string, Digest>> sources;  // name → SHA-256, main first, then sorted
  ParameterList parameters;                             // canonical
  std::string name_expression;
  std::string target;
  std::vector<std::string> options;  // compiler options, in order
  std::string toolchain;

  // SHA-256 over tagged, length-prefixed fields.
  Digest key() const;
  // The same without options and toolchain: what was asked for, whoever compiles it.
  Digest request() const;
  // Canonical JSON with a schema number, from which from_json() gives equal fields.
  std::string to_json() const;
  static Result<KeyFields> from_json(std::string_view json);
  bool operator==(const KeyFields&) const = default;
};

// All fields but options and toolchain.
KeyFields request_fields(const Variant& variant,
                         const Specialization& specialization,
                         const Target& target);

}  // namespace kiln
