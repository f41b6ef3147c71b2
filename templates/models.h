// SPDX-License-Identifier: Apache-2.0
#pragma once

// The variant lists of known models: templates/models/*.json, embedded. What is listed is what the
// shipped templates can serve today.

#include "support/status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln {

struct ModelVariant {
  std::string spec;
  std::int64_t per_forward = 0;                             // launches in one forward pass
  std::string site;                                         // where in the network
  std::vector<std::pair<std::string, std::int64_t>> shape;  // integer arguments, e.g. rows
};

struct Model {
  std::string name;
  std::string description;
  std::vector<ModelVariant> variants;
};

// Sorted by name.
Result<std::vector<Model>> list_models();
// not_found lists the names there are.
Result<Model> find_model(std::string_view name);

}  // namespace kiln
