// SPDX-License-Identifier: Apache-2.0
#include "jit/nvrtc_search.h"

#include "support/files.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <utility>

namespace kiln {
namespace {

// Releases that are known to work first; one that is not comes last, better than none.
constexpr std::array<std::string_view, 3> kNames = {"libnvrtc.so.13", "libnvrtc.so.12",
                                                    "libnvrtc.so.14"};

constexpr std::array<std::string_view, 5> kToolkitLibraries = {
    "lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib",
    "targets/aarch64-linux/lib"};
constexpr std::array<std::string_view, 6> kDistributionLibraries = {"/usr/lib/x86_64-linux-gnu",
                                                                    "/usr/lib/aarch64-linux-gnu",
                                                                    "/usr/lib64",
                                                                    "/usr/lib",
                                                                    "/opt/cuda/lib64",
                                                                    "/opt/cuda/lib"};

struct DirectoryCloser {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

// "cuda-12.9" → (12, 9); (0, 0) for any other name, which sorts last.
std::pair<int, int> toolkit_version(std::string_view name) {
  name.remove_prefix(std::string_view("cuda-").size());
  std::pair<int, int> version = {0, 0};
  const char* end = name.data() + name.size();
  const auto major = std::from_chars(name.data(), end, version.first);
  if (major.ptr != end && *major.ptr == '.') std::from_chars(major.ptr + 1, end, version.second);
  return version;
}

// "cuda-13.0", "cuda-12.9", …: newest first, as numbers (12.10 is newer than 12.9).
std::vector<std::string> toolkit_names(const std::string& parent) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, DirectoryCloser> directory(::opendir(parent.c_str()));
  if (directory == nullptr) return names;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): safe for one's own stream
  while (const dirent* entry = ::readdir(directory.get())) {
    if (std::string_view(entry->d_name).starts_with("cuda-")) names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::pair(toolkit_version(b), b) < std::pair(toolkit_version(a), a);
  });
  return names;
}

}  // namespace

std::span<const std::string_view> nvrtc_names() {
  return kNames;
}

std::vector<std::string> nvrtc_directories(const std::string& root) {
  const std::string parent = root + "/usr/local";
  std::vector<std::string> toolkits = {"cuda"};
  for (std::string& name : toolkit_names(parent))
    toolkits.push_back(std::move(name));
  std::vector<std::string> candidates;
  for (const std::string& toolkit : toolkits) {
    for (const std::string_view library : kToolkitLibraries) {
      candidates.push_back(join_path(join_path(parent, toolkit), library));
    }
  }
  for (const std::string_view directory : kDistributionLibraries) {
    candidates.push_back(root + std::string(directory));
  }
  std::vector<std::string> directories;
  for (std::string& candidate : candidates) {
    if (is_directory(candidate)) directories.push_back(std::move(candidate));
  }
  return directories;
}

std::vector<std::string> nvrtc_files_in(const std::string& directory) {
  std::vector<std::string> files;
  for (const std::string_view name : kNames) {
    std::string path = join_path(directory, name);
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) files.push_back(std::move(path));
  }
  return files;
}

}  // namespace kiln
