// SPDX-License-Identifier: Apache-2.0

#include "tests/host_device/golden_tensor.h"

#include "tests/host_device/device/floats.h"
#include "tests/host_device/golden_statistics.h"

#include <cerrno>
#include <cstdlib>

namespace kiln {

Result<OutputName> parse_output_name(const std::string& name) {
  if (name == "out_residual") return OutputName{"out_residual", "residual", ""};
  for (const char* dtype : {"bf16", "f16"}) {
    if (name == fmt::format("out_{}", dtype)) return OutputName{"out", dtype, ""};
  }
  for (const char* format : {"e4m3", "e5m2"}) {
    for (const char* reciprocal : {"rcp_rn", "div_full"}) {
      if (name == fmt::format("out_fp8_{}_{}", format, reciprocal)) {
        return OutputName{fmt::format("out_{}", format), format, reciprocal};
      }
    }
  }
  return failure(Code::invalid_argument, "output \"{}\" has an unknown name", name);
}

std::size_t bytes_of(const Tensor& tensor) {
  if (tensor.dtype == "F32") return 4;
  return tensor.dtype == "BF16" || tensor.dtype == "F16" ? 2 : 1;
}

std::int64_t extent(const Tensor& tensor, std::size_t from_last) {
  return from_last < tensor.shape.size() ? tensor.shape[tensor.shape.size() - 1 - from_last] : 1;
}

Result<std::string> dtype_of(const Tensor& tensor) {
  if (tensor.dtype == "BF16") return std::string("bf16");
  if (tensor.dtype == "F16") return std::string("f16");
  return failure(Code::invalid_argument, "an activation is {}; allowed: BF16, F16", tensor.dtype);
}

std::int64_t widest_access(std::int64_t columns) {
  std::int64_t vector = 8;
  while (columns % vector != 0)
    vector /= 2;
  return vector;
}

Result<float> read_eps(const Safetensors& file) {
  const std::string text = file.metadata_value("eps");
  char* end = nullptr;
  errno = 0;
  const double eps = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || errno != 0 || !(eps >= 0)) {
    return failure(Code::invalid_argument, R"(metadata "eps" is "{}")", text);
  }
  return static_cast<float>(eps);
}

Status add_known(const Tensor& arguments,
                 const Tensor& results,
                 std::map<std::uint32_t, float>& known) {
  const auto from = values_of<float>(arguments.bytes);
  const auto to = values_of<float>(results.bytes);
  if (from.size() != to.size()) {
    return failure(Code::invalid_argument, "{} results for {} arguments", to.size(), from.size());
  }
  for (std::size_t i = 0; i < from.size(); ++i)
    known[host::bits_of(from[i])] = to[i];
  return {};
}

}  // namespace kiln
