// SPDX-License-Identifier: Apache-2.0
#pragma once

// One compile: request in, artifact out. Does not know that a cache exists.

#include "jit/artifact.h"
#include "jit/nvrtc.h"
#include "templates/source.h"

#include <string>
#include <vector>

namespace kiln {

struct CompileRequest {
  const SourceSet* sources = nullptr;  // borrowed for the call
  std::string name_expression;
  Target target;
  std::vector<std::string> options;  // from compile_options()
  bool allow_spills = true;
};

// Blocks for the whole compile; any thread, many at a time. Runs in the C locale, whatever the
// caller's is. Reads no file but libnvrtc-builtins.
// invalid_argument: no sources, a NUL in a text, or an option that is not from compile_options();
// unsupported: NVRTC does not know the target (the message lists what it knows);
// compile_failed: detail holds the whole log, the options, the target, NVRTC's version and path,
// and a remedy where one is known. Also for a name expression that is no kernel, and for spills
// where none are allowed (the message says how many bytes);
// out_of_memory, unavailable (NVRTC lost its builtins), internal.
Result<Artifact> compile(const Nvrtc& nvrtc, const CompileRequest& request);

}  // namespace kiln
