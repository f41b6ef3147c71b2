// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the tests of the compiler share: one NVRTC, short ways to compile a source.

#include "jit/compiler.h"
#include "jit/options.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::test {

// The NVRTC that KILN_NVRTC names, else that of the machine. Fails the test, with the reason, if
// there is none.
std::shared_ptr<const Nvrtc> nvrtc();

// fails the test if the text is no target.
Target target(std::string_view text);

struct Source {
  std::string text;
  std::vector<SourceText> includes = {};
  std::string name = "kernel.cuh";
};

Result<Artifact> compile_source(const Source& source,
                                const std::string& name_expression,
                                const Target& target,
                                bool allow_spills = true);

// As above for a source that must compile; fails the test with the compiler's log.
Artifact must_compile(const Source& source,
                      const std::string& name_expression,
                      const Target& target);

}  // namespace kiln::test
