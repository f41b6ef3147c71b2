// SPDX-License-Identifier: Apache-2.0
#pragma once

// Facts read from a cubin (ELF) without a device. Bounds-checked throughout: the bytes may come
// from anywhere.

#include "jit/artifact.h"
#include "support/status.h"

#include <string_view>
#include <vector>

namespace kiln {

struct CubinFacts {
  std::vector<KernelParameter> layout;  // in parameter order
  std::int32_t registers = 0;
  std::int32_t shared_bytes = 0;
  std::int32_t local_bytes = 0;
};

// corrupt if the image is no cubin, or has no kernel of that (lowered) name.
Result<CubinFacts> read_cubin(std::string_view image, std::string_view kernel);

// Hexadecimal GNU build id of a shared library's first bytes; empty if it has none.
std::string read_build_id(std::string_view elf);

}  // namespace kiln
