// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compute capability of a GPU as CUDA numbers it. What can be compiled for is a Target (jit).

#include <fmt/core.h>

#include <compare>
#include <string>

namespace kiln {

struct ComputeCapability {
  int major = 0;
  int minor = 0;

  auto operator<=>(const ComputeCapability&) const = default;
  std::string text() const { return fmt::format("{}.{}", major, minor); }
};

}  // namespace kiln
