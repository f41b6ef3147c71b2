// SPDX-License-Identifier: Apache-2.0
#include "cache/directory.h"

#include "support/files.h"
#include "support/text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace kiln {
namespace {

// Whether a database could be kept in `path`, a name that anybody may have taken.
Status check_local_directory(const std::string& path) {
  KILN_TRY_ASSIGN(const FileSystem file_system, file_system_of(path));
  if (!file_system.is_local) {
    return failure(Code::unsupported, "{} is on a file system of type {}", path, file_system.name);
  }
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) {
    if (!S_ISDIR(status.st_mode)) {
      return failure(Code::invalid_argument, "{} is not a directory", path);
    }
    return check_cache_directory(path);
  }
  const std::string parent = nearest_existing(path);
  if (::faccessat(AT_FDCWD, parent.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    return system_failure(Code::io, errno, parent);
  }
  return {};
}

}  // namespace

Result<StorePlace> place_store(const CacheDirectory& cache, const Environment& environment) {
  StorePlace place{.directory = cache.path, .file_system = {}, .moved_because = {}};
  if (const auto& forced = environment.test_file_system) {
    place.file_system = file_system_named(*forced);
  } else {
    KILN_TRY_ASSIGN(place.file_system, file_system_of(cache.path));
  }
  if (place.file_system.is_local || environment.cache_local) return place;
  place.moved_because =
      fmt::format("{} is on a file system of type {}", cache.path, place.file_system.name);
  std::vector<std::string> candidates;
  if (const auto& path = environment.local_dir) {
    if (!path->starts_with('/')) {
      return failure(Code::invalid_argument, "KILN_LOCAL_DIR is {}; it must be absolute",
                     in_quotes(*path));
    }
    candidates.push_back(*path);
  }
  for (const char* parent : {"/var/tmp", "/dev/shm"})
    candidates.push_back(fmt::format("{}/kiln-{}", parent, ::geteuid()));
  std::string reasons;
  for (std::string& candidate : candidates) {
    const Status usable = check_local_directory(candidate);
    if (usable.is_ok()) {
      place.directory = std::move(candidate);
      return place;
    }
    reasons += (reasons.empty() ? "" : "; ") + usable.message();
  }
  return failure(Code::unavailable, "{}, and no local directory can hold the database: {}",
                 place.moved_because, reasons);
}

Result<CacheDirectory> choose_cache_directory(const Environment& environment) {
  const auto is_absolute = [](const std::string& path) { return path.starts_with('/'); };
  if (const auto& path = environment.cache_dir) {
    if (!is_absolute(*path)) {
      return failure(Code::invalid_argument, "KILN_CACHE_DIR is {}; it must be absolute",
                     in_quotes(*path));
    }
    return CacheDirectory{.path = *path, .origin = "KILN_CACHE_DIR"};
  }
  if (const auto& path = environment.xdg_cache_home; path && is_absolute(*path)) {
    return CacheDirectory{.path = join_path(*path, "kiln"), .origin = "XDG_CACHE_HOME"};
  }
  if (const auto& path = environment.home; path && is_absolute(*path)) {
    return CacheDirectory{.path = join_path(*path, ".cache/kiln"), .origin = "HOME"};
  }
  return failure(Code::unavailable,
                 "no cache directory: none of KILN_CACHE_DIR, XDG_CACHE_HOME and HOME is an "
                 "absolute path");
}

Status prepare_cache_directory(const std::string& path) {
  if (!path.starts_with('/')) {
    return failure(Code::invalid_argument, "cache directory {} is not absolute", in_quotes(path));
  }
  KILN_TRY(make_private_directories(path));
  return check_cache_directory(path);
}

Status check_cache_directory(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return system_failure(Code::io, errno, path);
  if (status.st_uid != ::geteuid()) {
    return failure(Code::invalid_argument,
                   "cache directory {} belongs to user {}; it must belong to user {}", path,
                   status.st_uid, ::geteuid());
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return failure(Code::invalid_argument,
                   "cache directory {} has mode {:04o}; group and others must not be able to "
                   "write it",
                   path, status.st_mode & 07777U);
  }
  if (::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
    return system_failure(Code::io, errno, path);
  }
  return {};
}

}  // namespace kiln
