// SPDX-License-Identifier: Apache-2.0
#include "tools/warm_run.h"

#include "support/log.h"
#include "tools/interrupt.h"
#include "tools/progress.h"
#include "tools/table.h"

#include <array>
#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>

namespace kiln {
namespace {

std::string describe(const WarmPair& pair, const Result<Acquired>& acquired) {
  if (!acquired.is_ok()) {
    return fmt::format("failed    {} {}", pair.spec, pair.target.text());
  }
  return fmt::format("{}  {} {} ({})", acquired->tier == Tier::compiled ? "compiled" : "cached  ",
                     pair.spec, pair.target.text(), duration_text(acquired->elapsed_us));
}

// Whether the entry is pinned now.
bool pin(Engine& engine, const Acquired& acquired) {
  if (engine.store() == nullptr || !acquired.is_stored) return false;
  const auto count = engine.store()->set_pinned(std::array{acquired.kernel->key}, true);
  if (count.is_ok()) return *count == 1;
  log(LogLevel::warning, "\"{}\" is not pinned: {}", acquired.kernel->variant.spec(),
      count.status().message());
  return false;
}

void sum_up(WarmReport& report) {
  for (const WarmOutcome& outcome : report.outcomes) {
    if (outcome.is_pinned) ++report.pinned;
    if (!outcome.acquired) {
      ++report.not_tried;
    } else if (!outcome.acquired->is_ok()) {
      ++report.failed;
    } else if ((*outcome.acquired)->tier == Tier::compiled) {
      ++report.compiled;
      if ((*outcome.acquired)->is_stored) ++report.stored;
    } else {
      ++report.cached;
    }
  }
}

}  // namespace

WarmReport run_warm(Engine& engine,
                    const std::vector<WarmPair>& plan,
                    int threads,
                    bool should_pin,
                    Console& console) {
  const auto start = std::chrono::steady_clock::now();
  const InterruptWatch watch;
  WarmReport report;
  report.outcomes.resize(plan.size());
  Progress progress(console, plan.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    while (!InterruptWatch::is_interrupted()) {
      const std::size_t i = next.fetch_add(1);
      if (i >= plan.size()) return;
      auto& outcome = report.outcomes[i].acquired;
      outcome = engine.acquire(plan[i].variant, plan[i].target, AcquireLimit::compile);
      if (should_pin && outcome->is_ok()) report.outcomes[i].is_pinned = pin(engine, **outcome);
      progress.advance(describe(plan[i], *outcome));
    }
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < threads; ++i) {
    try {
      helpers.emplace_back(work);
    } catch (const std::system_error&) {
      break;  // the system gives no more threads; those there are do the work
    }
  }
  work();
  for (std::thread& helper : helpers)
    helper.join();
  sum_up(report);
  report.is_interrupted = InterruptWatch::is_interrupted();
  report.wall_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::steady_clock::now() - start)
                       .count();
  return report;
}

}  // namespace kiln
