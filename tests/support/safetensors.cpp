// SPDX-License-Identifier: Apache-2.0

#include "tests/support/safetensors.h"

#include "support/files.h"

#include <nlohmann/json.hpp>

#include <cstring>
#include <exception>
#include <string_view>

namespace kiln {
namespace {

constexpr std::size_t kMostBytes = 1UL << 30;
constexpr std::size_t kLengthBytes = 8;

// 0: unknown.
std::size_t element_bytes(std::string_view dtype) {
  if (dtype == "F64" || dtype == "I64") return 8;
  if (dtype == "F32" || dtype == "I32") return 4;
  if (dtype == "BF16" || dtype == "F16") return 2;
  if (dtype == "F8_E4M3" || dtype == "F8_E5M2" || dtype == "U8") return 1;
  return 0;
}

Result<Tensor> read_tensor(const nlohmann::json& entry, std::string_view data) {
  Tensor tensor;
  tensor.dtype = entry.at("dtype").get<std::string>();
  tensor.shape = entry.at("shape").get<std::vector<std::int64_t>>();
  const auto begin = entry.at("data_offsets").at(0).get<std::size_t>();
  const auto end = entry.at("data_offsets").at(1).get<std::size_t>();
  if (begin > end || end > data.size()) {
    return failure(Code::corrupt, "data_offsets [{}, {}] of {} bytes", begin, end, data.size());
  }
  const std::size_t bytes = element_bytes(tensor.dtype);
  if (bytes == 0) return failure(Code::corrupt, "dtype \"{}\" is unknown", tensor.dtype);
  for (const std::int64_t extent : tensor.shape) {
    if (extent < 0) return failure(Code::corrupt, "extent {}", extent);
  }
  if (static_cast<std::size_t>(tensor.element_count()) * bytes != end - begin) {
    return failure(Code::corrupt, "{} bytes for {} elements of {}", end - begin,
                   tensor.element_count(), tensor.dtype);
  }
  tensor.bytes.resize(end - begin);
  if (end > begin) std::memcpy(tensor.bytes.data(), data.data() + begin, end - begin);
  return tensor;
}

Result<Safetensors> parse(std::string_view text) {
  std::uint64_t header_bytes = 0;
  if (text.size() < kLengthBytes) return failure(Code::corrupt, "{} bytes", text.size());
  std::memcpy(&header_bytes, text.data(), kLengthBytes);
  text.remove_prefix(kLengthBytes);
  if (header_bytes > text.size()) {
    return failure(Code::corrupt, "header of {} bytes in {} bytes", header_bytes, text.size());
  }
  const std::string_view data = text.substr(header_bytes);
  Safetensors file;
  try {
    const auto header = nlohmann::json::parse(text.substr(0, header_bytes));
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        file.metadata = entry.get<std::map<std::string, std::string>>();
        continue;
      }
      auto tensor = read_tensor(entry, data);
      if (!tensor.is_ok()) return tensor.status().with_context(name);
      file.tensors.emplace(name, std::move(tensor).value());
    }
  } catch (const std::exception& exception) {
    return failure(Code::corrupt, "header: {}", exception.what());
  }
  return file;
}

}  // namespace

std::int64_t Tensor::element_count() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape)
    count *= extent;
  return count;
}

const Tensor* Safetensors::find(const std::string& name) const {
  const auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : &found->second;
}

std::string Safetensors::metadata_value(const std::string& name) const {
  const auto found = metadata.find(name);
  return found == metadata.end() ? std::string() : found->second;
}

Result<Safetensors> read_safetensors(const std::string& path) {
  KILN_TRY_ASSIGN(const std::string text, read_file(path, kMostBytes));
  return parse(text);
}

}  // namespace kiln
