// SPDX-License-Identifier: Apache-2.0
#pragma once

// How much of the machine this process may use, from its affinity mask and control group. Reads
// files under /proc and /sys, so it belongs in start-up, not in a hot path.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kiln {

// Where to look; tests give their own.
struct HostFiles {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
};

// CPU quota of the control group and its parents (version 2 or 1), in cores, rounded up, at least
// 1; nullopt without a quota.
std::optional<int> cpu_quota(const HostFiles& files);

// The CPUs of the affinity mask, as many as the quota allows; at least one.
std::vector<int> usable_cpus(const HostFiles& files = {});

// How many usable_cpus() there are.
int usable_cores(const HostFiles& files = {});

// What can still be allocated before the machine's or the control group's limit; nullopt if
// unknown.
std::optional<std::int64_t> available_memory_bytes(const HostFiles& files = {});

}  // namespace kiln
