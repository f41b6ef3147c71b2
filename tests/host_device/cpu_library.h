// SPDX-License-Identifier: Apache-2.0
#pragma once

// Turns a template's sources into a shared library for the CPU: writes them with the host prelude
// beside them, and starts a C++ compiler. Knows nothing of variants' arguments.

#include "support/status.h"
#include "templates/source.h"

#include <string>
#include <vector>

namespace kiln {

// The library exports
//   void kiln_kernel(void** arguments);   // calls it for one thread
//   const char* kiln_signature();         // see device/call_kernel.h
// compile_failed: detail holds the compiler's messages; io. Returns the library's path, below
// `directory`, which must exist and be empty.
Result<std::string> build_cpu_library(const SourceSet& sources,
                                      const std::string& name_expression,
                                      const std::string& compiler,
                                      const std::vector<std::string>& flags,
                                      const std::string& directory);

}  // namespace kiln
