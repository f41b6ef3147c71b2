// SPDX-License-Identifier: Apache-2.0
// bench_acquire DIRECTORY [ROUNDS]
// How long an acquire takes on each tier, without a device. Each round opens a new engine on the
// same store, so that its first acquire is a disk hit. Prints medians and the 99th percentile in
// microseconds; a program for people, not a test.
#include "runtime/engine.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace kiln {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

void report(const char* what, std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  fmt::print("{:34} median {:8.1f} us   p99 {:8.1f} us   of {}\n", what,
             samples[samples.size() / 2], samples[samples.size() * 99 / 100], samples.size());
}

Status run(const std::string& directory, int rounds) {
  EngineOptions options;
  options.cache_dir = directory;
  const Target target = default_target({9, 0});
  std::vector<double> opens;
  std::vector<double> disk_hits;
  std::vector<double> memory_hits;
  for (int round = 0; round <= rounds; ++round) {
    const auto begin = Clock::now();
    KILN_TRY_ASSIGN(const auto engine, Engine::open(options));
    const auto opened = Clock::now();
    KILN_TRY_ASSIGN(const Variant variant,
                    Variant::parse(engine->catalog(), "layernorm_modulate:hidden=6144"));
    const auto parsed = Clock::now();
    KILN_TRY_ASSIGN(const Acquired first, engine->acquire(variant, target, AcquireLimit::compile));
    const auto acquired = Clock::now();
    KILN_TRY_ASSIGN(const Acquired second, engine->acquire(variant, target, AcquireLimit::compile));
    const auto again = Clock::now();
    if (first.tier != Tier::disk) {
      fmt::print("round {}: {} in {:.0f} us\n", round, tier_name(first.tier),
                 microseconds(acquired - parsed));
      continue;
    }
    opens.push_back(microseconds(opened - begin));
    disk_hits.push_back(microseconds(acquired - parsed));
    memory_hits.push_back(microseconds(again - acquired));
  }
  if (disk_hits.empty()) return failure(Code::internal, "there was no disk hit");
  report("open (templates and store)", opens);
  report("disk hit (verified, decompressed)", disk_hits);
  report("memory hit", memory_hits);
  return {};
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_acquire DIRECTORY [ROUNDS]\n");
    return 2;
  }
  const kiln::Status status = kiln::run(argv[1], argc > 2 ? std::atoi(argv[2]) : 500);
  if (status.is_ok()) return 0;
  fmt::print(stderr, "bench_acquire: {}\n{}", status.message(), status.detail());
  return 1;
}
