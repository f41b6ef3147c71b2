// SPDX-License-Identifier: Apache-2.0
#include "tools/warm_run.h"

#include "support/log.h"
#include "tools/interrupt.h"
#include "tools/progress.h"
#include "tools/table.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <mutex>
#include <numeric>
#include <optional>
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

// The plan's indices, from a place of this process's own on: processes that warm the same list
// begin apart.
std::vector<std::size_t> own_order(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  if (count == 0) return order;
  constexpr std::size_t spread = 0x9E3779B97F4A7C15U;  // apart also for neighbouring numbers
  const std::size_t start = (static_cast<std::size_t>(::getpid()) * spread >> 32U) % count;
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(start), order.end());
  return order;
}

// What several threads take from: first what nobody else compiles, then what others do.
class Agenda {
 public:
  explicit Agenda(std::size_t count) : free_(own_order(count)) {}

  struct Item {
    std::size_t index;
    OtherBuilders others;
  };
  std::optional<Item> next() {
    const std::lock_guard lock(mutex_);
    if (taken_ < free_.size()) return Item{free_[taken_++], OtherBuilders::skip};
    if (busy_.empty()) return std::nullopt;
    const Item item{busy_.front(), OtherBuilders::wait};
    busy_.pop_front();
    return item;
  }
  void postpone(std::size_t index) {
    const std::lock_guard lock(mutex_);
    busy_.push_back(index);
  }

 private:
  std::mutex mutex_;
  std::vector<std::size_t> free_;
  std::size_t taken_ = 0;
  std::deque<std::size_t> busy_;
};

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
  Agenda agenda(plan.size());
  const auto work = [&] {
    while (!InterruptWatch::is_interrupted()) {
      const auto item = agenda.next();
      if (!item) return;
      const WarmPair& pair = plan[item->index];
      auto acquired =
          engine.acquire(pair.variant, pair.target, AcquireLimit::compile, item->others);
      if (acquired.status().code() == Code::busy && item->others == OtherBuilders::skip) {
        agenda.postpone(item->index);
        continue;
      }
      if (should_pin && acquired.is_ok()) {
        report.outcomes[item->index].is_pinned = pin(engine, *acquired);
      }
      progress.advance(describe(pair, acquired));
      report.outcomes[item->index].acquired = std::move(acquired);
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
