// SPDX-License-Identifier: Apache-2.0
#include "cache/directory.h"

#include "support/files.h"
#include "support/text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace kiln {

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
