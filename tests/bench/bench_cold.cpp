// SPDX-License-Identifier: Apache-2.0
// bench_cold DIRECTORY [PROCESSES [ROUNDS]]
// What one cold key costs when several processes want it at the same time (8 if left out), and what
// it costs a process that is alone: until the last of them has its kernel, NVRTC and all. Each
// round has an empty cache in DIRECTORY, removed afterwards. A program for people, not a test.
#include "runtime/engine.h"

#include <fmt/core.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kSpec = "layernorm_modulate:hidden=6144";

// In a process of its own.
Status acquire_once(const std::string& directory) {
  EngineOptions options;
  options.cache_dir = directory;
  KILN_TRY_ASSIGN(const auto engine, Engine::open(options));
  KILN_TRY_ASSIGN(const Variant variant, Variant::parse(engine->catalog(), kSpec));
  return engine->acquire(variant, default_target({9, 0}), AcquireLimit::compile).status();
}

Result<double> run_processes(const std::string& directory, int count) {
  std::vector<pid_t> processes;
  const auto begin = Clock::now();
  for (int i = 0; i < count; ++i) {
    const pid_t process = ::fork();
    if (process < 0) return system_failure(Code::io, errno, "fork");
    if (process == 0) {
      ::execl("/proc/self/exe", "bench_cold", "--once", directory.c_str(), nullptr);
      ::_exit(127);
    }
    processes.push_back(process);
  }
  bool is_good = true;
  for (const pid_t process : processes) {
    int status = 0;
    is_good = ::waitpid(process, &status, 0) == process && status == 0 && is_good;
  }
  const std::chrono::duration<double, std::milli> elapsed = Clock::now() - begin;
  if (!is_good) return failure(Code::internal, "a process failed");
  return elapsed.count();
}

Status measure(const std::string& parent, int processes, int rounds) {
  std::vector<double> ms;
  std::int64_t compiles = 0;
  std::int64_t waits = 0;
  std::int64_t wait_us = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::string directory = fmt::format("{}/cold-{}", parent, ::getpid());
    KILN_TRY_ASSIGN(const double elapsed_ms, run_processes(directory, processes));
    ms.push_back(elapsed_ms);
    {
      KILN_TRY_ASSIGN(const auto store, Store::open(directory, StoreMode::inspect));
      KILN_TRY_ASSIGN(const Counters counters, store->counters());
      compiles += counters.at(Counter::compiles);
      waits += counters.at(Counter::process_waits);
      wait_us += counters.at(Counter::process_wait_us);
    }
    std::filesystem::remove_all(directory);
  }
  std::sort(ms.begin(), ms.end());
  fmt::print(
      "{} process{}: best {:.0f} ms, median {:.0f} ms; {:.1f} compiles and {:.1f} waits a round, "
      "{:.0f} ms a wait\n",
      processes, processes == 1 ? "" : "es", ms.front(), ms[ms.size() / 2],
      static_cast<double>(compiles) / rounds, static_cast<double>(waits) / rounds,
      waits == 0 ? 0.0 : static_cast<double>(wait_us) / static_cast<double>(waits) / 1000);
  return {};
}

Status run(const std::string& parent, int processes, int rounds) {
  KILN_TRY(measure(parent, 1, rounds));
  return measure(parent, processes, rounds);
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) {
  const bool is_once = argc == 3 && std::string_view(argv[1]) == "--once";
  const int processes = !is_once && argc > 2 ? std::atoi(argv[2]) : 8;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  if (argc < 2 || processes < 1 || rounds < 1) {
    fmt::print(stderr, "usage: bench_cold DIRECTORY [PROCESSES [ROUNDS]]\n");
    return 2;
  }
  const kiln::Status status =
      is_once ? kiln::acquire_once(argv[2]) : kiln::run(argv[1], processes, rounds);
  if (status.is_ok()) return 0;
  fmt::print(stderr, "bench_cold: {}\n{}", status.message(), status.detail());
  return 1;
}
