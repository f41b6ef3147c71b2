// SPDX-License-Identifier: Apache-2.0
#include "runtime/capi/boundary.h"
#include "runtime/capi/handles.h"
#include "support/environment.h"
#include "support/log.h"

namespace kiln {
namespace {

Result<EngineOptions> engine_options(const kiln_context_options_t* given) {
  KILN_TRY_ASSIGN(const kiln_context_options_t options,
                  read_options<kiln_context_options_t>(given, KILN_CONTEXT_OPTIONS_INIT,
                                                       "kiln_context_options_t"));
  constexpr uint32_t kKnownFlags = KILN_CONTEXT_MEMORY_ONLY;
  if ((options.flags & ~kKnownFlags) != 0) {
    return failure(Code::invalid_argument, "flags is {:#x}; known: {:#x}", options.flags,
                   kKnownFlags);
  }
  if (options.most_compiles < 0) {
    return failure(Code::invalid_argument, "most_compiles is {}; allowed: 0 or more",
                   options.most_compiles);
  }
  EngineOptions engine;
  KILN_TRY_ASSIGN(engine.environment, Environment::read());
  if (options.cache_dir != nullptr) engine.cache_dir = options.cache_dir;
  engine.use_store = (options.flags & KILN_CONTEXT_MEMORY_ONLY) == 0;
  engine.most_compiles = options.most_compiles;
  return engine;
}

}  // namespace
}  // namespace kiln

kiln_status_t kiln_context_open(const kiln_context_options_t* options,
                                kiln_context_t** out_context) {
  return kiln::guard([&]() -> kiln::Status {
    KILN_TRY(kiln::require(out_context, "out_context"));
    *out_context = nullptr;
    KILN_TRY_ASSIGN(kiln::EngineOptions engine_options, kiln::engine_options(options));
    const kiln::Environment& environment = engine_options.environment;
    if (environment.log_file) {
      KILN_TRY(kiln::set_log_file(*environment.log_file, environment.log_level));
    }
    KILN_TRY_ASSIGN(auto engine, kiln::Engine::open(std::move(engine_options)));
    *out_context = new kiln_context{std::move(engine), std::make_shared<kiln::Devices>()};
    return {};
  });
}

void kiln_context_close(kiln_context_t* context) {
  delete context;
}

kiln_status_t kiln_context_statistics(kiln_context_t* context, kiln_statistics_t* out_statistics) {
  return kiln::guard([&]() -> kiln::Status {
    KILN_TRY(kiln::require(context, "context"));
    const kiln::Statistics statistics = context->engine->statistics();
    kiln_statistics_t result = KILN_STATISTICS_INIT;
    result.memory_hits = statistics.memory_hits;
    result.disk_hits = statistics.disk_hits;
    result.pack_hits = statistics.pack_hits;
    result.misses = statistics.misses;
    result.compiles = statistics.compiles;
    result.compile_failures = statistics.compile_failures;
    result.other_toolchain_hits = statistics.other_toolchain_hits;
    result.recovered = statistics.recovered;
    result.store_failures = statistics.store_failures;
    result.waits = statistics.waits;
    result.process_waits = statistics.process_waits;
    result.process_wait_us = statistics.process_wait_us;
    result.lock_timeouts = statistics.lock_timeouts;
    return kiln::write_info(out_statistics, result, "kiln_statistics_t");
  });
}
