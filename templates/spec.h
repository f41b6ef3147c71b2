// SPDX-License-Identifier: Apache-2.0
#pragma once

// The text form in which people ask for a kernel:
//   layernorm_modulate:hidden=6144,out=bf16+e4m3
// A Spec is syntax only; Variant::make() checks it against a template's manifest.

#include "support/status.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln {

// Name → value, both as text, in the order in which they were given.
using ParameterList = std::vector<std::pair<std::string, std::string>>;

struct Spec {
  std::string template_name;
  ParameterList parameters;

  std::string text() const;
};

// invalid_argument quotes the text and says what is wrong with it: an empty name, a character
// outside [A-Za-z0-9_.+-], a parameter given twice, more than 4096 bytes.
Result<Spec> parse_spec(std::string_view text);

}  // namespace kiln
