// SPDX-License-Identifier: Apache-2.0
// How an engine builds what no store has: one process at a time for each request.
#include "jit/options.h"
#include "runtime/engine.h"
#include "support/backoff.h"
#include "support/log.h"

#include <chrono>
#include <ctime>
#include <utility>

namespace kiln {

// The only builder of a request, until it goes out of scope.
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

// The time that a request spends on waiting for other processes, counted when it ends.
class Engine::Wait {
 public:
  explicit Wait(Engine& engine) : engine_(engine) {}
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  ~Wait() {
    if (!has_paused_) return;
    const auto waited =
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start_);
    engine_.count(engine_.statistics_.process_wait_us, Counter::process_wait_us, waited.count());
  }

  bool is_over() const {
    return Clock::now() - start_ >= engine_.options_.environment.lock_timeout;
  }
  // Whether the store may hold more than at the last call.
  bool has_news() {
    const Result<std::int64_t> version = engine_.store_->version();
    if (version.is_ok() && seen_ == *version) return false;
    seen_ = version.is_ok() ? std::optional(*version) : std::nullopt;
    return true;
  }
  void pause(bool is_for_seat) {
    if (!is_for_seat) {
      for_seat_.reset();
    } else if (!for_seat_) {
      for_seat_.emplace(*engine_.compile_seats_);
    }
    if (!has_paused_) engine_.count(engine_.statistics_.process_waits, Counter::process_waits);
    has_paused_ = true;
    backoff_.pause();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Engine& engine_;
  const Clock::time_point start_ = Clock::now();
  bool has_paused_ = false;
  std::optional<std::int64_t> seen_;
  std::optional<CompileSeats::Waiting> for_seat_;
  Backoff backoff_{std::chrono::milliseconds(50)};
};

Result<Engine::Turn> Engine::take_turn(const Digest& request) {
  const Result<bool> is_mine = build_locks_->try_lock(request);
  if (!is_mine.is_ok()) {
    note_store_failure(is_mine.status());
    return Turn();
  }
  if (!*is_mine) return failure(Code::busy, "another process compiles {}", request.hex());
  return Turn(*build_locks_, request);
}

Result<Engine::Found> Engine::build_in_turn(const Request& request, OtherBuilders others) {
  if (store_ == nullptr) {
    const CompileScheduler::Slot slot(scheduler_);
    return build(request);
  }
  const Digest digest = request.fields.request();
  Wait wait(*this);
  while (true) {
    bool is_for_seat = false;
    {
      const CompileScheduler::Slot slot(scheduler_);
      const Result<Turn> turn = take_turn(digest);
      const bool is_over = wait.is_over();
      if (turn.is_ok() || is_over) {
        // Somebody may have built it since this process looked.
        if (wait.has_news()) {
          if (auto found = find_stored(request)) return *std::move(found);
        }
        const auto seat = compile_seats_->try_take();
        if (turn.is_ok() && seat) return build(request);
        is_for_seat = turn.is_ok();
      }
      if (others == OtherBuilders::skip) {
        return failure(Code::busy, "other processes compile {}",
                       is_for_seat ? "on every CPU" : digest.hex());
      }
      if (is_over) {
        count(statistics_.lock_timeouts, Counter::lock_timeouts);
        log(LogLevel::warning, "other processes compile {} for more than {} ms; compiling {} here",
            is_for_seat ? "on every CPU" : "it", options_.environment.lock_timeout.count(),
            digest.hex());
        return build(request);
      }
    }
    wait.pause(is_for_seat);
  }
}

Result<Engine::Found> Engine::build(const Request& request) {
  count(statistics_.misses, Counter::misses);
  Result<Found> built = compile_and_save(request);
  if (built.is_ok()) {
    count(statistics_.compiles, Counter::compiles);
  } else if (built.status().code() == Code::compile_failed) {
    count(statistics_.compile_failures, Counter::compile_failures);
  }
  return built;
}

Result<Engine::Found> Engine::compile_and_save(const Request& request) {
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
  KILN_TRY_ASSIGN(Artifact artifact, compile(*nvrtc, compile_request));
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
