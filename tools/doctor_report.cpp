// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor_report.h"

#include "support/files.h"
#include "templates/catalog.h"
#include "tools/inspection.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace kiln {
namespace {

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

// An existing directory is checked as a writer would check it; of an absent one, whether it could
// be made.
Status check_directory(const std::string& path) {
  if (exists(path)) return prepare_cache_directory(path);
  const std::string parent = nearest_existing(path);
  if (::access(parent.c_str(), W_OK | X_OK) != 0) return system_failure(Code::io, errno, parent);
  return {};
}

void examine_file_system(CacheReport& report) {
  const std::string place = nearest_existing(report.directory->path);
  struct statvfs facts {};
  if (::statvfs(place.c_str(), &facts) != 0) return;
  report.file_system_bytes = static_cast<std::int64_t>(facts.f_blocks * facts.f_frsize);
  report.available_bytes = static_cast<std::int64_t>(facts.f_bavail * facts.f_frsize);
}

// Also returns the store, for what it remembers of NVRTC; null if it cannot be read.
std::unique_ptr<Store> examine_cache(const Invocation& invocation, CacheReport& report) {
  const Result<CacheDirectory> directory = cache_directory(invocation);
  if (!directory.is_ok()) {
    report.reason = directory.status().message();
    return nullptr;
  }
  report.directory = *directory;
  examine_file_system(report);
  const Result<StorePlace> place = place_store(*directory, invocation.environment);
  if (!place.is_ok()) {
    report.reason = place.status().message();
    return nullptr;
  }
  report.place = *place;
  const Status usable = check_directory(place->directory);
  if (!usable.is_ok()) {
    report.reason = usable.message();
    return nullptr;
  }
  auto store =
      Store::open(place->directory, StoreMode::inspect, invocation.environment.cache_limit_bytes);
  const auto summary = store.is_ok() ? (*store)->summary() : Result<Store::Summary>(store.status());
  if (!summary.is_ok()) {
    report.reason = summary.status().message();
    return nullptr;
  }
  report.store = *summary;
  report.state = report.store.exists ? CacheState::usable : CacheState::absent;
  if (!report.store.exists) report.reason = "made when a kernel is first compiled";
  return std::move(store).value();
}

// Looked for as the engine does it: the variable, what the cache remembers, a search.
NvrtcLocation locate_nvrtc(const Invocation& invocation, Store* store, std::string& origin) {
  NvrtcLocation location{.explicit_path = invocation.environment.nvrtc, .remembered_path = {}};
  origin = location.explicit_path ? "KILN_NVRTC" : "search";
  if (location.explicit_path || store == nullptr) return location;
  const auto memos = store->toolchain_memos();
  if (!memos.is_ok()) return location;
  for (const ToolchainMemo& memo : *memos) {
    if (!is_current(memo)) continue;
    location.remembered_path = memo.path;
    origin = "remembered in the cache";
    break;
  }
  return location;
}

PackReport examine_pack(PackFile file, const Result<PackTrust>& trust) {
  PackReport report{.file = std::move(file), .summary = {}, .reason = {}};
  const auto summarize = [&]() -> Status {
    KILN_TRY(report.file.status);
    KILN_TRY(trust.status());
    KILN_TRY_ASSIGN(const auto pack, Pack::open(report.file.path, *trust));
    KILN_TRY_ASSIGN(report.summary, pack->summary());
    const Pack::Summary& summary = report.summary;
    if (summary.entries == 0 || summary.untrusted_entries < summary.entries) return {};
    return failure(Code::corrupt, "none of its entries is signed by a trusted key");
  };
  if (const Status status = summarize(); !status.is_ok()) report.reason = status.message();
  return report;
}

std::vector<PackReport> examine_packs(const Invocation& invocation,
                                      const std::optional<CacheDirectory>& directory) {
  const Environment& environment = invocation.environment;
  const Result<PackTrust> trust = pack_trust(environment);
  const auto path = directory ? std::optional(directory->path) : std::nullopt;
  std::vector<PackReport> reports;
  for (PackFile& file : find_packs(pack_places(environment, path)))
    reports.push_back(examine_pack(std::move(file), trust));
  return reports;
}

Result<int> driver_version(Devices& devices) {
  KILN_TRY_ASSIGN(const auto driver, devices.driver());
  return driver->version();
}

Result<std::size_t> count_templates(const Invocation& invocation) {
  KILN_TRY_ASSIGN(const Catalog catalog, Catalog::open(invocation.environment.template_path));
  KILN_TRY_ASSIGN(const auto templates, catalog.templates());
  return templates.size();
}

}  // namespace

std::string_view cache_state_name(CacheState state) {
  switch (state) {
    case CacheState::usable:
      return "usable";
    case CacheState::absent:
      return "absent";
    case CacheState::memory_only:
      return "memory only";
  }
  return "unknown";
}

DoctorReport examine(const Invocation& invocation) {
  CacheReport cache;
  cache.store.limit_bytes = invocation.environment.cache_limit_bytes;
  const std::unique_ptr<Store> store = examine_cache(invocation, cache);
  std::vector<PackReport> packs = examine_packs(invocation, cache.directory);
  std::string origin;
  const NvrtcLocation location = locate_nvrtc(invocation, store.get(), origin);
  Devices devices;
  auto version = driver_version(devices);
  return {.cache = std::move(cache),
          .packs = std::move(packs),
          .nvrtc_origin = std::move(origin),
          .nvrtc = Nvrtc::load(location),
          .driver_version = std::move(version),
          .devices = devices.list(),
          .template_count = count_templates(invocation)};
}

}  // namespace kiln
