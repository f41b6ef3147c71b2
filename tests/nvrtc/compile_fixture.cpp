// SPDX-License-Identifier: Apache-2.0
#include "tests/nvrtc/compile_fixture.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <utility>

namespace kiln::test {

std::shared_ptr<const Nvrtc> nvrtc() {
  NvrtcLocation location;
  if (const char* path = std::getenv("KILN_NVRTC")) location.explicit_path = path;
  auto loaded = Nvrtc::load(location);
  REQUIRE_MESSAGE(loaded.is_ok(), loaded.status().message(), "\n", loaded.status().detail());
  return *std::move(loaded);
}

Target target(std::string_view text) {
  const auto parsed = parse_target(text);
  REQUIRE_MESSAGE(parsed.is_ok(), parsed.status().message());
  return *parsed;
}

Result<Artifact> compile_source(const Source& source,
                                const std::string& name_expression,
                                const Target& target,
                                bool allow_spills) {
  const auto compiler = nvrtc();
  const SourceSet sources = {{source.name, source.text}, source.includes};
  return compile(*compiler,
                 {.sources = &sources,
                  .name_expression = name_expression,
                  .target = target,
                  .options = compile_options(target, compiler->major(), compiler->minor()),
                  .allow_spills = allow_spills});
}

Artifact must_compile(const Source& source,
                      const std::string& name_expression,
                      const Target& target) {
  auto artifact = compile_source(source, name_expression, target);
  REQUIRE_MESSAGE(artifact.is_ok(), artifact.status().message(), "\n", artifact.status().detail());
  return *std::move(artifact);
}

}  // namespace kiln::test
