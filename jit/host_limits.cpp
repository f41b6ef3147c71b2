// SPDX-License-Identifier: Apache-2.0
#include "jit/host_limits.h"

#include "support/files.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20U;

// Splits at any of the separators, without empty parts.
std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto begin = text.find_first_not_of(separators);
    if (begin == std::string_view::npos) return parts;
    const auto end = std::min(text.find_first_of(separators, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The whitespace-separated words of a file; none if it cannot be read.
std::vector<std::string> read_words(const std::string& path) {
  std::vector<std::string> words;
  if (const auto text = read_file(path, kMostBytes); text.is_ok()) {
    for (const std::string_view word : split(*text, " \t\n"))
      words.emplace_back(word);
  }
  return words;
}

std::optional<std::int64_t> read_integer(const std::string& path) {
  const auto words = read_words(path);
  return words.empty() ? std::nullopt : parse_integer(words.front());
}

// The directories, from the process's own group up to the root, that hold a controller's files.
// In a container the path in /proc is often the host's; then only the root exists, and is right.
std::vector<std::string> group_directories(const HostFiles& files, std::string_view controller) {
  std::vector<std::string> directories;
  const auto text = read_file(join_path(files.proc, "self/cgroup"), kMostBytes);
  if (!text.is_ok()) return {files.cgroup};
  for (const std::string_view line : split(*text, "\n")) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view names = line.substr(first + 1, second - first - 1);
    std::string root = files.cgroup;
    if (!names.empty()) {
      const auto parts = split(names, ",");
      if (std::find(parts.begin(), parts.end(), controller) == parts.end()) continue;
      root = join_path(files.cgroup, controller);
    }
    std::string_view path = line.substr(second + 1);
    while (path.size() > 1 && path.front() == '/') {
      directories.push_back(root + std::string(path));
      path = path.substr(0, path.rfind('/'));
    }
    directories.push_back(root);
  }
  return directories;
}

std::optional<std::int64_t> smaller(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

std::optional<std::int64_t> quota_cores(std::optional<std::int64_t> quota,
                                        std::optional<std::int64_t> period) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return (*quota - 1) / *period + 1;
}

// Limit minus use; page cache counts as used, which errs on the careful side.
std::optional<std::int64_t> memory_left(const std::string& limit, const std::string& use) {
  const auto most = read_integer(limit);
  const auto used = read_integer(use);
  if (!most || !used) return std::nullopt;
  return std::max<std::int64_t>(*most - *used, 0);
}

}  // namespace

std::optional<int> cpu_quota(const HostFiles& files) {
  std::optional<std::int64_t> cores;
  for (const std::string& directory : group_directories(files, "cpu")) {
    const auto words = read_words(join_path(directory, "cpu.max"));  // "max 100000"
    if (words.size() == 2) {
      cores = smaller(cores, quota_cores(parse_integer(words[0]), parse_integer(words[1])));
    }
    cores = smaller(cores, quota_cores(read_integer(join_path(directory, "cpu.cfs_quota_us")),
                                       read_integer(join_path(directory, "cpu.cfs_period_us"))));
  }
  if (!cores) return std::nullopt;
  return static_cast<int>(std::min<std::int64_t>(*cores, std::numeric_limits<int>::max()));
}

std::vector<int> usable_cpus(const HostFiles& files) {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  } else {
    // A fixed cpu_set_t covers 1024 cores; beyond, the call fails and sysconf answers.
    cpus.resize(static_cast<std::size_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L)));
    std::iota(cpus.begin(), cpus.end(), 0);
  }
  const auto quota = cpu_quota(files);
  if (quota && std::cmp_less(*quota, cpus.size())) cpus.resize(static_cast<std::size_t>(*quota));
  return cpus;
}

int usable_cores(const HostFiles& files) {
  return static_cast<int>(usable_cpus(files).size());
}

std::optional<std::int64_t> available_memory_bytes(const HostFiles& files) {
  std::optional<std::int64_t> bytes;
  const auto words = read_words(join_path(files.proc, "meminfo"));
  if (const auto found = std::find(words.begin(), words.end(), "MemAvailable:");
      words.end() - found > 1) {
    if (const auto kilobytes = parse_integer(*(found + 1))) bytes = *kilobytes * 1024;
  }
  for (const std::string& directory : group_directories(files, "memory")) {
    bytes = smaller(bytes, memory_left(join_path(directory, "memory.max"),
                                       join_path(directory, "memory.current")));
    bytes = smaller(bytes, memory_left(join_path(directory, "memory.limit_in_bytes"),
                                       join_path(directory, "memory.usage_in_bytes")));
  }
  return bytes;
}

}  // namespace kiln
