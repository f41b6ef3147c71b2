// SPDX-License-Identifier: Apache-2.0
#pragma once

// Row statistics that golden vectors bring along, since a CPU has no rsqrtf of a GPU: each is
// checked as far as a CPU can, and then served in its place.

#include "tests/host_device/device_values.h"
#include "tests/host_device/golden_case.h"
#include "tests/support/safetensors.h"

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace kiln {

template <typename Type>
std::vector<Type> values_of(const std::vector<std::byte>& bytes) {
  std::vector<Type> values(bytes.size() / sizeof(Type));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(Type));
  return values;
}

// Replays the file's `mean` (LayerNorm) and `rstd` over the rows of its tensor `rows`, and adds
// what the GPU had to `known`. Nothing without a tensor `rstd`. invalid_argument if they do not
// fit.
Result<std::vector<Comparison>> replay_statistics(const Safetensors& file,
                                                  const std::string& rows,
                                                  bool is_rms_norm,
                                                  float eps,
                                                  host::DeviceValues& known);

}  // namespace kiln
