// SPDX-License-Identifier: Apache-2.0
#include "cache/pack_path.h"

#include "support/files.h"
#include "support/text.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".kpack";

Result<std::vector<std::string>> list_directory(const std::string& path, bool trust_others) {
  if (!trust_others) KILN_TRY(check_shared_file(path));
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(path, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name.ends_with(kSuffix) && !name.starts_with('.')) names.push_back(std::move(name));
  }
  if (error) return system_failure(Code::io, error.value(), path);
  std::sort(names.begin(), names.end());
  return names;
}

void add_directory(const std::string& path,
                   std::string_view origin,
                   bool trust_others,
                   std::vector<PackFile>& packs) {
  const auto names = list_directory(path, trust_others);
  if (!names.is_ok()) {
    packs.push_back({path, std::string(origin), names.status()});
    return;
  }
  for (const std::string& name : *names)
    packs.push_back({join_path(path, name), std::string(origin)});
}

void add_named(const std::string& path, bool trust_others, std::vector<PackFile>& packs) {
  constexpr std::string_view kOrigin = "KILN_PACK_PATH";
  if (!path.starts_with('/')) {
    packs.push_back({path, std::string(kOrigin),
                     failure(Code::invalid_argument, "KILN_PACK_PATH has {}; it must be absolute",
                             in_quotes(path))});
  } else if (is_directory(path)) {
    add_directory(path, kOrigin, trust_others, packs);
  } else {
    packs.push_back({path, std::string(kOrigin)});
  }
}

}  // namespace

std::string pack_directory(const std::string& cache_directory) {
  return join_path(cache_directory, "packs");
}

PackPlaces pack_places(const Environment& environment,
                       const std::optional<std::string>& cache_directory) {
  PackPlaces places{.path = environment.pack_path,
                    .installed = KILN_INSTALLED_PACKS,
                    .trust_others = environment.trust_dir};
  if (cache_directory) places.cache_packs = pack_directory(*cache_directory);
  return places;
}

std::vector<PackFile> find_packs(const PackPlaces& places) {
  std::vector<PackFile> packs;
  for (const std::string& path : places.path)
    add_named(path, places.trust_others, packs);
  if (places.cache_packs && is_directory(*places.cache_packs)) {
    add_directory(*places.cache_packs, "cache directory", places.trust_others, packs);
  }
  if (places.installed && is_directory(*places.installed)) {
    add_directory(*places.installed, "installation", places.trust_others, packs);
  }
  return packs;
}

}  // namespace kiln
