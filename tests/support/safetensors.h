// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads files in the safetensors format: 8 bytes of header length, a JSON header, raw data. The
// whole file is kept in memory. Little-endian machines only.

#include "support/status.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace kiln {

struct Tensor {
  std::string dtype;  // as in the file: BF16, F32, F8_E4M3, F8_E5M2, …
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  std::int64_t element_count() const;
};

struct Safetensors {
  std::map<std::string, std::string> metadata;
  std::map<std::string, Tensor> tensors;

  // Null if there is none.
  const Tensor* find(const std::string& name) const;
  // Empty if there is none.
  std::string metadata_value(const std::string& name) const;
};

// corrupt if the file is not of the format, or a tensor's bytes do not fit its shape; not_found;
// io.
Result<Safetensors> read_safetensors(const std::string& path);

}  // namespace kiln
