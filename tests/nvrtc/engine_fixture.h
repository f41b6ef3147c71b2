// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the engine's tests share: engines on a cache of the test's own, and requests to them.

#include "runtime/engine.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>

namespace kiln::test {

inline const Target kTarget = *parse_target("sm_90a");
inline constexpr const char* kSpec = "layernorm_modulate:hidden=256,out=bf16+e4m3";

inline std::shared_ptr<Engine> open_engine(const std::string& directory,
                                           EngineOptions options = {.environment = {}}) {
  options.cache_dir = directory;
  auto engine = Engine::open(std::move(options));
  REQUIRE_MESSAGE(engine.is_ok(), engine.status().message());
  return *engine;
}

inline Result<Acquired> acquire(Engine& engine,
                                const std::string& spec = kSpec,
                                AcquireLimit limit = AcquireLimit::compile) {
  const auto variant = Variant::parse(engine.catalog(), spec);
  REQUIRE_MESSAGE(variant.is_ok(), variant.status().message());
  return engine.acquire(*variant, kTarget, limit);
}

}  // namespace kiln::test
