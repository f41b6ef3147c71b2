// SPDX-License-Identifier: Apache-2.0
#pragma once

// One launch of layernorm_modulate in guarded memory, and its comparison with the reference.

#include "tests/host_device/cpu_backend.h"
#include "tests/host_device/guarded_memory.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace kiln {

struct LayernormModulateCase {
  std::int64_t hidden = 4;
  std::int64_t batches = 1;
  std::int64_t rows_per_batch = 1;
  std::int64_t vector = 4;
  std::string out = "bf16+e4m3+e5m2";
  std::string reciprocal = "rcp_rn";
  // Elements, multiples of `vector`: between rows, between batches, before the first.
  std::int64_t row_gap = 0;
  std::int64_t batch_gap = 0;
  std::int64_t offset = 0;
  float eps = 1e-6F;
  float input_scale = 0.02F;
  // bf16 of one element; default: random, near N(0, 1).
  std::function<std::uint16_t(std::int64_t row, std::int64_t column)> x = {};
  std::function<std::uint16_t(std::int64_t batch, std::int64_t column)> scale = {};
  std::function<std::uint16_t(std::int64_t batch, std::int64_t column)> shift = {};

  std::string text() const;
};

struct LayernormModulateResult {
  std::int64_t mismatches = 0;  // elements of all outputs
  std::int64_t compared = 0;
  bool is_gap_untouched = true;  // between rows, and around every output
};

// What the variant or the backend failed with.
Result<LayernormModulateResult> run_case(CpuBackend& backend,
                                         const Catalog& catalog,
                                         const LayernormModulateCase& layernorm_modulate);

}  // namespace kiln
