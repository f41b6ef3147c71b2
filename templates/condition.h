// SPDX-License-Identifier: Apache-2.0
#pragma once

// Conditions over a variant's parameters, as manifests state them:
//   {"hidden": {"max": 4096, "multiple_of": 8}, "out": ["e4m3", "e5m2"], "reciprocal": "rcp_rn"}
// All members must hold. A value or list asks for any of these values (for a set: contains any of
// them); an object gives bounds for an integer. The name "target" is the compute capability:
//   {"target": {"min": "9.0", "max": "9.0"}}

#include "support/compute_capability.h"
#include "support/status.h"
#include "templates/spec.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

struct Condition {
  struct Term {
    std::string name;
    std::vector<std::string> any_of;  // empty: bounds only
    std::optional<std::int64_t> min, max, multiple_of;
    std::optional<ComputeCapability> target_min, target_max;
  };
  std::vector<Term> terms;  // none: always holds

  // `parameters` are canonical; a set's values are joined by '+'. Without a capability, terms on
  // the target do not hold.
  bool holds(const ParameterList& parameters,
             const std::optional<ComputeCapability>& capability = std::nullopt) const;
  // "hidden a multiple of 8 and out e4m3 or e5m2", for messages.
  std::string text() const;
};

// invalid_argument names the offending member.
Result<Condition> parse_condition(const nlohmann::json& json);
Status decode(const nlohmann::json& json, Condition& condition);

}  // namespace kiln
