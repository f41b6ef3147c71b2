// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whether a manifest's parameters, and conditions over them, make sense. Used while a manifest is
// parsed; knows nothing of its other parts.

#include "support/status.h"
#include "templates/manifest.h"

#include <set>
#include <span>
#include <string_view>

namespace kiln {

// A well-formed name that is not in `taken`; adds it there.
Status check_name(std::string_view name, std::set<std::string_view>& taken);

enum class TargetTerms { allowed, refused };

// `parameters` are those whose values are known where the condition is evaluated.
Status check_condition(const Condition& condition,
                       std::span<const Parameter> parameters,
                       TargetTerms target_terms);

Status check_parameters(std::span<const Parameter> parameters);

}  // namespace kiln
