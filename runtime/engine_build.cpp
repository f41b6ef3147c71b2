// SPDX-License-Identifier: Apache-2.0
// How an engine builds what no store has: one process at a time for each request.
#include "jit/options.h"
#include "runtime/engine.h"
#include "support/log.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>
#include <utility>

namespace kiln {

// Lets others build when it goes out of scope.
class Engine::Turn {
 public:
  Turn() = default;
  Turn(BuildLocks& locks, const Digest& request) : locks_(&locks), request_(request) {}
  Turn(Turn&& other) noexcept
      : locks_(std::exchange(other.locks_, nullptr)), request_(other.request_) {}
  Turn& operator=(Turn&&) = delete;
  ~Turn() {
    if (locks_ != nullptr) locks_->unlock(request_);
  }

 private:
  BuildLocks* locks_ = nullptr;
  Digest request_;
};

Result<Engine::Turn> Engine::take_turn(const Digest& request, OtherBuilders others) {
  if (!build_locks_) return Turn();
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto waited_us = [start] {
    return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
  };
  bool has_waited = false;
  std::chrono::microseconds pause{500};
  while (true) {
    const Result<bool> is_mine = build_locks_->try_lock(request);
    const bool is_late = Clock::now() - start >= options_.environment.lock_timeout;
    const bool is_over = !is_mine.is_ok() || *is_mine || is_late;
    if (is_over && has_waited) {
      count(statistics_.process_wait_us, Counter::process_wait_us, waited_us());
    }
    if (!is_mine.is_ok()) {
      note_store_failure(is_mine.status());
      return Turn();
    }
    if (*is_mine) return Turn(*build_locks_, request);
    if (others == OtherBuilders::skip) {
      return failure(Code::busy, "another process compiles {}", request.hex());
    }
    if (!has_waited) count(statistics_.process_waits, Counter::process_waits);
    has_waited = true;
    if (is_late) {
      count(statistics_.lock_timeouts, Counter::lock_timeouts);
      log(LogLevel::warning, "another process compiles {} for more than {} ms; compiling it here",
          request.hex(), options_.environment.lock_timeout.count());
      return Turn();
    }
    // Jitter from the clock: enough to keep waiters from marching in step.
    const auto jitter = Clock::now().time_since_epoch().count() % pause.count();
    std::this_thread::sleep_for(pause + std::chrono::microseconds(jitter));
    pause = std::min(2 * pause, std::chrono::microseconds(25000));
  }
}

Result<Engine::Found> Engine::build_in_turn(const Request& request, OtherBuilders others) {
  KILN_TRY_ASSIGN(const Turn turn, take_turn(request.fields.request(), others));
  // Somebody may have built it since this process looked.
  if (auto found = find_stored(request)) return *std::move(found);
  count(statistics_.misses, Counter::misses);
  Result<Found> built = build(request);
  if (built.is_ok()) {
    count(statistics_.compiles, Counter::compiles);
  } else if (built.status().code() == Code::compile_failed) {
    count(statistics_.compile_failures, Counter::compile_failures);
  }
  return built;
}

Result<Engine::Found> Engine::build(const Request& request) {
  KILN_TRY_ASSIGN(const auto nvrtc, this->nvrtc());
  KeyFields fields = request.fields;
  fields.options = compile_options(request.target, nvrtc->major(), nvrtc->minor());
  fields.toolchain = nvrtc->toolchain().text();
  const CompileRequest compile_request{
      .sources = &request.variant.source().sources,
      .name_expression = request.specialization.name_expression,
      .target = request.target,
      .options = fields.options,
      .allow_spills = may_spill(request.variant),
  };
  const auto compile_in_turn = [&] {
    const CompileScheduler::Slot slot(scheduler_);
    return compile(*nvrtc, compile_request);
  };
  KILN_TRY_ASSIGN(Artifact artifact, compile_in_turn());
  auto kernel = std::make_shared<const CompiledKernel>(
      CompiledKernel{request.variant, request.specialization, fields.key(), std::move(artifact)});
  const bool is_stored = save(request, *kernel, fields);
  return Found{std::move(kernel), Tier::compiled, is_stored};
}

bool Engine::save(const Request& request, const CompiledKernel& kernel, const KeyFields& fields) {
  if (store_ == nullptr) return false;
  const EntryFacts facts =
      make_facts(kernel.key, fields.request(), request.variant.manifest().name,
                 request.variant.spec(), fields.to_json(), kernel.artifact, std::time(nullptr));
  const Status status = store_->put(facts, kernel.artifact.image);
  if (!status.is_ok()) note_store_failure(status);
  return status.is_ok();
}

}  // namespace kiln
