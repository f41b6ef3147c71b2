// SPDX-License-Identifier: Apache-2.0
#pragma once

// Facts read from a cubin (ELF) without a device. Bounds-checked throughout: the bytes may come
// from anywhere. Spills are not in a cubin; the compiler's report has them (compile_report.h).

#include "jit/artifact.h"
#include "support/status.h"

#include <string_view>
#include <vector>

namespace kiln {

struct CubinFacts {
  // The suffix of a target ('a', 'f') is not reliably in the image: NVRTC 13.0 writes the same
  // header for sm_90 and sm_90a.
  ComputeCapability capability;
  std::vector<KernelParameter> layout;  // in parameter order
  std::int32_t registers = 0;
  std::int32_t shared_bytes = 0;  // static, as the source declares it
  std::int32_t local_bytes = 0;   // stack, including that of called functions
};

// corrupt if the image is no cubin, or has no kernel of that (lowered) name.
Result<CubinFacts> read_cubin(std::string_view image, std::string_view kernel);

}  // namespace kiln
