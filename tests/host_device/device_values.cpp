// SPDX-License-Identifier: Apache-2.0

#include "tests/host_device/device_values.h"

#include "tests/host_device/device/execution.h"
#include "tests/host_device/device/floats.h"

#include <limits>
#include <optional>

namespace kiln::host {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): kernels pass no context
const DeviceValues* device_values = nullptr;

std::optional<float> find(const std::map<std::uint32_t, float>& known, float argument) {
  const auto found = known.find(bits_of(argument));
  if (found == known.end()) return std::nullopt;
  return found->second;
}

}  // namespace

// A double has more than twice the digits of a float, so its rounding does no harm but next to a
// tie; and no reciprocal square root of a float lies that near to one.
float correct_reciprocal_square_root(float value) {
  if (value == 0.0F) {
    return std::copysign(std::numeric_limits<float>::infinity(), value);
  }
  return canonical(static_cast<float>(1.0 / std::sqrt(static_cast<double>(value))));
}

void set_device_values(const DeviceValues* values) {
  device_values = values;
}

float reciprocal_square_root(float value) {
  const float correct = correct_reciprocal_square_root(value);
  if (device_values == nullptr) return correct;
  if (const auto known = find(device_values->reciprocal_square_root, value)) return *known;
  for (const float candidate : {correct, std::nextafter(correct, 0.0F),
                                std::nextafter(correct, std::numeric_limits<float>::max())}) {
    if (device_values->reciprocal_square_roots.contains(candidate)) return candidate;
  }
  return correct;
}

float exponential(float value) {
  std::optional<float> known;
  if (device_values != nullptr) known = find(device_values->exponential, value);
  return known ? *known : canonical(static_cast<float>(std::exp(static_cast<double>(value))));
}

float hyperbolic_tangent(float value) {
  std::optional<float> known;
  if (device_values != nullptr) known = find(device_values->hyperbolic_tangent, value);
  return known ? *known : canonical(static_cast<float>(std::tanh(static_cast<double>(value))));
}

float divide_full(float a, float b) {
  std::optional<float> known;
  if (device_values != nullptr && a == 1.0F) known = find(device_values->inverse_div_full, b);
  return known ? *known : canonical(a / b);
}

}  // namespace kiln::host
