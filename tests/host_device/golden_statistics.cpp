// SPDX-License-Identifier: Apache-2.0

#include "tests/host_device/golden_statistics.h"

#include "tests/host_device/device/floats.h"
#include "tests/host_device/reference.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace kiln {
namespace {

std::vector<float> floats_of(const Tensor& tensor) {
  std::vector<float> floats;
  for (const std::uint16_t bits : values_of<std::uint16_t>(tensor.bytes)) {
    floats.push_back(tensor.dtype == "F16" ? host::f16_to_float(bits)
                                           : host::float_of(std::uint32_t{bits} << 16));
  }
  return floats;
}

// What a GPU's rsqrtf may give.
bool is_near(float found, float correct) {
  return found >= std::nextafter(correct, 0.0F) &&
         found <= std::nextafter(correct, std::numeric_limits<float>::max());
}

}  // namespace

Result<std::vector<Comparison>> replay_statistics(const Safetensors& file,
                                                  const std::string& rows,
                                                  bool is_rms_norm,
                                                  float eps,
                                                  host::DeviceValues& known) {
  const Tensor* rstd_tensor = file.find("rstd");
  const Tensor* mean_tensor = file.find("mean");
  const Tensor* tensor = file.find(rows);
  if (rstd_tensor == nullptr) return std::vector<Comparison>();
  if (tensor == nullptr || tensor->shape.empty() || (mean_tensor == nullptr && !is_rms_norm)) {
    return failure(Code::invalid_argument, "rstd without rows and means");
  }
  const std::vector<float> x = floats_of(*tensor);
  const auto rstd = values_of<float>(rstd_tensor->bytes);
  const auto mean = is_rms_norm ? rstd : values_of<float>(mean_tensor->bytes);
  const auto width = static_cast<std::size_t>(tensor->shape.back());
  if (width == 0 || rstd.size() != x.size() / width || mean.size() != rstd.size()) {
    return failure(Code::invalid_argument, "mean and rstd are not one a row");
  }
  const auto count = static_cast<std::int64_t>(rstd.size());
  Comparison means{.name = "mean", .count = count};
  Comparison deviations{.name = "rstd", .count = count};
  for (std::size_t row = 0; row < rstd.size(); ++row) {
    const std::span<const float> values = std::span(x).subspan(row * width, width);
    float argument = 0;
    if (is_rms_norm) {
      argument = reference::mean_square(values) + eps;
    } else {
      const auto replay = reference::row_statistics(values, eps);
      if (host::bits_of(replay.mean) != host::bits_of(mean[row])) ++means.mismatches;
      argument = replay.variance_and_eps;
    }
    if (!is_near(rstd[row], host::correct_reciprocal_square_root(argument))) {
      ++deviations.mismatches;
    }
    known.reciprocal_square_root[host::bits_of(argument)] = rstd[row];
  }
  if (is_rms_norm) return std::vector<Comparison>{deviations};
  return std::vector<Comparison>{means, deviations};
}

}  // namespace kiln
