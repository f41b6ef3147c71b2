// SPDX-License-Identifier: Apache-2.0
#include "tools/bench_run.h"

#include "runtime/random_data.h"
#include "runtime/timing.h"
#include "runtime/workload.h"

#include <vector>

namespace kiln {
namespace {

constexpr std::int64_t kCacheMultiple = 3;
constexpr std::int64_t kMostSets = 4096;
constexpr int kLeastLaunches = 50;
constexpr int kWarmUpRounds = 5;
// The driver copies sizes and addresses that are odd in multiples of these at two thirds of the
// speed (driver 580, H200).
constexpr std::int64_t kCopyGranularity = 4096;
constexpr std::int64_t kCopyAlignment = 65536;
constexpr std::size_t kCopyDataBytes = std::size_t{1} << 20U;

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// At least two, for as many as the caches call for, but no more than half of the free memory holds.
Result<int> count_sets(const Kernel::Loaded& loaded, const std::vector<TensorLayout>& layouts) {
  const Driver& driver = *loaded.module->driver;
  if (driver.api().cuMemGetInfo == nullptr || driver.api().cuMemcpyDtoDAsync == nullptr) {
    return failure(Code::unavailable, "this CUDA driver has no memory functions");
  }
  int l2_bytes = 0;
  KILN_TRY(driver.check(driver.api().cuDeviceGetAttribute(
                            &l2_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, loaded.device->handle),
                        Code::unavailable, "device attribute"));
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  KILN_TRY(driver.check(driver.api().cuMemGetInfo(&free_bytes, &total_bytes), Code::unavailable,
                        "free device memory"));
  const std::int64_t moved = std::max<std::int64_t>(moved_bytes(layouts), 1);
  const std::int64_t wanted = kCacheMultiple * l2_bytes / moved + 1;
  // Twice: the copies have buffers of their own.
  const std::int64_t room = static_cast<std::int64_t>(free_bytes / 2) / (2 * held_bytes(layouts));
  const std::int64_t sets = std::min(std::clamp<std::int64_t>(wanted, 2, kMostSets), room);
  return static_cast<int>(std::max<std::int64_t>(sets, 1));
}

Result<std::vector<Workload>> make_workloads(Kernel& kernel,
                                             const IntegerArguments& integers,
                                             int sets) {
  std::vector<Workload> workloads;
  for (int set = 0; set < sets; ++set) {
    KILN_TRY_ASSIGN(Workload workload,
                    Workload::make(kernel, integers, static_cast<std::uint64_t>(set)));
    workloads.push_back(std::move(workload));
  }
  return workloads;
}

// Pairs of buffers, one behind the other.
struct CopyBuffers {
  DeviceMemory memory;
  std::int64_t bytes;     // of a buffer
  std::int64_t distance;  // from one to the next

  std::byte* source(int set) const { return memory.address() + distance * 2 * set; }
  std::byte* target(int set) const { return source(set) + distance; }
};

Result<CopyBuffers> make_copy_buffers(const Kernel::Loaded& loaded, std::int64_t moved, int sets) {
  const std::int64_t bytes = round_up((moved + 1) / 2, kCopyGranularity);
  const std::int64_t distance = round_up(bytes, kCopyAlignment);
  const auto total = static_cast<std::size_t>(distance * 2 * sets);
  KILN_TRY_ASSIGN(DeviceMemory memory,
                  DeviceMemory::allocate(loaded.module->driver, loaded.device, total));
  KILN_TRY_ASSIGN(const auto data, random_elements("u8", kCopyDataBytes, 0));
  KILN_TRY(upload_repeated(memory, memory.address(), total, data));
  return CopyBuffers{std::move(memory), bytes, distance};
}

GraphTimer::LaunchOne launch_kernel(Kernel& kernel, const std::vector<Workload>& workloads) {
  return [&](CUstream stream, int index) {
    const std::size_t set = static_cast<std::size_t>(index) % workloads.size();
    return launch(kernel, {.stream = stream}, workloads[set].arguments());
  };
}

GraphTimer::LaunchOne launch_copy_kernel(Kernel& copy, const CopyBuffers& buffers, int sets) {
  return [&, sets](CUstream stream, int index) {
    const Argument arguments[] = {Argument::of_pointer(buffers.source(index % sets)),
                                  Argument::of_pointer(buffers.target(index % sets)),
                                  Argument::of_int64(buffers.bytes)};
    return launch(copy, {.stream = stream}, arguments);
  };
}

GraphTimer::LaunchOne launch_memcpy(const Driver& driver, const CopyBuffers& buffers, int sets) {
  return [&, sets](CUstream stream, int index) {
    const auto source = reinterpret_cast<std::uintptr_t>(buffers.source(index % sets));
    const auto target = reinterpret_cast<std::uintptr_t>(buffers.target(index % sets));
    return driver.check(driver.api().cuMemcpyDtoDAsync(
                            target, source, static_cast<std::size_t>(buffers.bytes), stream),
                        Code::launch_failed, "copying on the device");
  };
}

// In turns, so that what changes in the course of the run changes for all.
Result<std::vector<double>> medians(const std::vector<const GraphTimer*>& timers, int replays) {
  std::vector<std::vector<double>> times(timers.size());
  for (int round = -kWarmUpRounds; round < replays; ++round) {
    for (std::size_t i = 0; i < timers.size(); ++i) {
      KILN_TRY_ASSIGN(const double us, timers[i]->launch_us());
      if (round >= 0) times[i].push_back(us);
    }
  }
  std::vector<double> result(timers.size());
  std::transform(times.begin(), times.end(), result.begin(), median);
  return result;
}

}  // namespace

Result<Measurement> measure(Kernel& kernel,
                            Kernel& copy,
                            const IntegerArguments& integers,
                            int replays) {
  KILN_TRY_ASSIGN(const Kernel::Loaded loaded, kernel.loaded());
  const Driver& driver = *loaded.module->driver;
  KILN_TRY_ASSIGN(const CurrentContext current, CurrentContext::enter(driver, *loaded.device));
  KILN_TRY_ASSIGN(const auto layouts, tensor_layouts(kernel.compiled().variant, integers));
  Measurement result{.moved_bytes = moved_bytes(layouts)};
  KILN_TRY_ASSIGN(result.sets, count_sets(loaded, layouts));
  // Whole rotations.
  result.launches = static_cast<int>(round_up(kLeastLaunches, result.sets));
  KILN_TRY_ASSIGN(const auto workloads, make_workloads(kernel, integers, result.sets));
  KILN_TRY_ASSIGN(const auto buffers, make_copy_buffers(loaded, result.moved_bytes, result.sets));

  KILN_TRY_ASSIGN(const Stream stream, make_stream(driver));
  const auto record = [&](const GraphTimer::LaunchOne& launch_one) {
    return GraphTimer::record(driver, stream, result.launches, launch_one);
  };
  KILN_TRY_ASSIGN(const auto kernel_timer, record(launch_kernel(kernel, workloads)));
  KILN_TRY_ASSIGN(const auto memcpy_timer, record(launch_memcpy(driver, buffers, result.sets)));
  KILN_TRY_ASSIGN(const auto copy_timer, record(launch_copy_kernel(copy, buffers, result.sets)));
  KILN_TRY_ASSIGN(const auto times, medians({&kernel_timer, &memcpy_timer, &copy_timer}, replays));
  result.kernel_us = times[0];
  result.memcpy_us = times[1];
  result.copy_kernel_us = times[2];
  return result;
}

}  // namespace kiln
