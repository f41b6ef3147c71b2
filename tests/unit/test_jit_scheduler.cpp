// SPDX-License-Identifier: Apache-2.0
#include "jit/host_limits.h"
#include "jit/scheduler.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <sched.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace kiln {
namespace {

namespace fs = std::filesystem;

// A pretended /proc and /sys/fs/cgroup.
class FakeHost {
 public:
  FakeHost& write(const std::string& name, const std::string& text) {
    const fs::path path = directory_.file(name);
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return *this;
  }
  HostFiles files() const { return {directory_.file("proc"), directory_.file("cgroup")}; }

 private:
  test::TemporaryDirectory directory_;
};

TEST_SUITE("host limits") {
  TEST_CASE("the smallest quota of the group and its parents counts, rounded up") {
    FakeHost host;
    host.write("proc/self/cgroup", "0::/a/b\n");
    CHECK_FALSE(cpu_quota(host.files()).has_value());
    host.write("cgroup/a/b/cpu.max", "max 100000\n");
    CHECK_FALSE(cpu_quota(host.files()).has_value());
    host.write("cgroup/a/cpu.max", "250000 100000\n");
    CHECK(cpu_quota(host.files()) == 3);
    host.write("cgroup/cpu.max", "50000 100000\n");
    CHECK(cpu_quota(host.files()) == 1);
    CHECK(usable_cores(host.files()) == 1);
  }

  TEST_CASE("the quota of a version 1 group is read") {
    FakeHost host;
    host.write("proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/job\n1:name=systemd:/y\n");
    host.write("cgroup/cpu/job/cpu.cfs_quota_us", "400000\n");
    host.write("cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    CHECK(cpu_quota(host.files()) == 4);
    host.write("cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
    CHECK_FALSE(cpu_quota(host.files()).has_value());
  }

  TEST_CASE("unreadable or damaged files are no quota") {
    FakeHost host;
    CHECK_FALSE(cpu_quota(host.files()).has_value());
    CHECK_FALSE(available_memory_bytes(host.files()).has_value());
    host.write("proc/self/cgroup", "nonsense\n0::\n:::::\n");
    host.write("cgroup/cpu.max", "many few\n");
    host.write("proc/meminfo", "MemAvailable:");
    CHECK_FALSE(cpu_quota(host.files()).has_value());
    CHECK_FALSE(available_memory_bytes(host.files()).has_value());
    CHECK(usable_cores(host.files()) >= 1);
  }

  TEST_CASE("the core count respects the affinity mask") {
    cpu_set_t before;
    REQUIRE(::sched_getaffinity(0, sizeof(before), &before) == 0);
    int first = 0;
    while (!CPU_ISSET(first, &before))
      ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    REQUIRE(::sched_setaffinity(0, sizeof(one), &one) == 0);
    const int cores = usable_cores(FakeHost().files());
    ::sched_setaffinity(0, sizeof(before), &before);
    CHECK(cores == 1);
    CHECK(usable_cores(FakeHost().files()) == CPU_COUNT(&before));
  }

  TEST_CASE("memory is what the machine and the group still give") {
    FakeHost host;
    host.write("proc/meminfo", "MemTotal:  9 kB\nMemFree: 1 kB\nMemAvailable:    4096 kB\n");
    host.write("proc/self/cgroup", "0::/job\n");
    CHECK(available_memory_bytes(host.files()) == 4096 * 1024);
    host.write("cgroup/job/memory.max", "max\n").write("cgroup/job/memory.current", "77\n");
    CHECK(available_memory_bytes(host.files()) == 4096 * 1024);
    host.write("cgroup/job/memory.max", "1000\n");
    CHECK(available_memory_bytes(host.files()) == 923);
    host.write("cgroup/job/memory.max", "10\n");
    CHECK(available_memory_bytes(host.files()) == 0);
  }
}

TEST_SUITE("CompileScheduler") {
  TEST_CASE("as many compiles as cores and memory allow, and at least one") {
    CHECK(compiles_at_once(8, std::nullopt) == 8);
    CHECK(compiles_at_once(8, 100 * kMemoryPerCompileBytes) == 8);
    CHECK(compiles_at_once(64, 3 * kMemoryPerCompileBytes + 1) == 3);
    CHECK(compiles_at_once(64, 0) == 1);
    for (const int automatic : {0, -3}) {
      const int most = CompileScheduler(automatic).most_at_once();
      CHECK(most >= 1);
      CHECK(most <= usable_cores());
    }
    CHECK(CompileScheduler(5).most_at_once() == 5);
  }

  TEST_CASE("the cap is reached, never passed, and every thread gets its turn") {
    constexpr int kCap = 3;
    constexpr int kThreads = 12;
    CompileScheduler scheduler(kCap);
    std::mutex mutex;
    std::condition_variable changed;
    int inside = 0;
    int most = 0;
    int done = 0;
    const auto work = [&] {
      const CompileScheduler::Slot slot(scheduler);
      std::unique_lock lock(mutex);
      most = std::max(most, ++inside);
      changed.notify_all();
      // Holds the slot until the cap has been reached once, so that a lower cap would hang.
      changed.wait(lock, [&] { return most >= kCap; });
      --inside;
      ++done;
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back(work);
    for (std::thread& thread : threads)
      thread.join();
    CHECK(most == kCap);
    CHECK(done == kThreads);
    CHECK(inside == 0);
  }
}

}  // namespace
}  // namespace kiln
