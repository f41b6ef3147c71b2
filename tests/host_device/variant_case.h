// SPDX-License-Identifier: Apache-2.0
#pragma once

// One launch of any variant in guarded memory, and the same launch of its reference kernel: every
// element of every output must be equal, and nothing else may be written.

#include "templates/catalog.h"
#include "templates/tensor.h"
#include "tests/host_device/backend.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace kiln {

struct VariantCase {
  std::string spec;
  IntegerArguments shape = {};
  // In accesses of the variant (its parameter `vector`): before every tensor's first element, and
  // added to its strides of rows and of batches.
  std::int64_t offset = 0;
  std::int64_t row_gap = 0;
  std::int64_t batch_gap = 0;
  unsigned seed = 1;
  // How many of a thousand elements are zeros, subnormals, infinities, NaNs or largest values.
  unsigned specials = 0;
  float eps = 1e-6F;
  float input_scale = 0.02F;
  // Values by argument and index in the dense tensor; the others are near N(0, 1).
  std::map<std::string, std::function<float(std::int64_t index)>> values = {};
  // Pointer arguments that share another's memory, as an output may its input.
  std::map<std::string, std::string> aliases = {};

  std::string text() const;
};

struct CaseResult {
  std::int64_t compared = 0;
  std::int64_t mismatches = 0;
  std::string first_mismatch = {};  // "out_e4m3[17]: 0x7e, reference 0x7f"
  bool is_rest_untouched = true;
};

// What either variant or the backend failed with.
Result<CaseResult> run_case(Backend& backend, const Catalog& catalog, const VariantCase& given);

// The variant's reference: the template NAME_reference with the same parameters.
Result<Variant> reference_of(const Catalog& catalog, const Variant& variant);

}  // namespace kiln
