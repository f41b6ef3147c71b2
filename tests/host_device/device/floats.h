// SPDX-License-Identifier: Apache-2.0
#pragma once

// fp32 and its bits. Includes nothing of the project.

#include <cmath>
#include <cstdint>
#include <cstring>

namespace kiln::host {

inline std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float float_of(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// The one NaN that a GPU computes.
inline float canonical(float value) {
  return std::isnan(value) ? float_of(0x7FFFFFFF) : value;
}

}  // namespace kiln::host
