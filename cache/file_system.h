// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which file systems may hold the live database: SQLite's write-ahead log needs memory shared
// between processes and locks that work, which a network file system does not promise.

#include "support/status.h"

#include <string>
#include <string_view>

namespace kiln {

struct FileSystem {
  std::string name;       // "ext4", or the number that the kernel gives it
  bool is_local = false;  // one of those that are known to work
};

// Of `path`, or of its nearest parent that exists. io.
Result<FileSystem> file_system_of(const std::string& path);

// By the name that file_system_of() gives.
FileSystem file_system_named(std::string_view name);

}  // namespace kiln
