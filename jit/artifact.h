// SPDX-License-Identifier: Apache-2.0
#pragma once

// One compiled kernel: image, lowered name and the facts about it. Plain data.

#include "jit/target.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kiln {

struct KernelParameter {
  std::int32_t offset_bytes = 0;
  std::int32_t size_bytes = 0;

  bool operator==(const KernelParameter&) const = default;
};

struct Resources {
  std::int32_t registers = 0;          // per thread
  std::int32_t shared_bytes = 0;       // static, per block
  std::int32_t local_bytes = 0;        // per thread: stack frame
  std::int32_t spill_store_bytes = 0;  // per thread
  std::int32_t spill_load_bytes = 0;

  std::int64_t spill_bytes() const { return std::int64_t{spill_store_bytes} + spill_load_bytes; }
  bool operator==(const Resources&) const = default;
};

struct Artifact {
  std::string image;  // cubin
  Target target;
  std::string lowered_name;  // symbol in the image
  std::vector<KernelParameter> layout;
  Resources resources;
  std::string toolchain;  // of the library that really compiled it
  std::int64_t compile_us = 0;
  std::string log;  // warnings; without the compiler's timing lines
};

}  // namespace kiln
