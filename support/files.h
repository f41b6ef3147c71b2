// SPDX-License-Identifier: Apache-2.0
#pragma once

// File descriptors, whole-file reads, private directories and advisory locks. Everything here keeps
// SIGPIPE and SIGXFSZ from the host while it writes.

#include "support/status.h"
#include "support/unique_handle.h"

#include <signal.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace kiln {

struct FdTraits {
  using Handle = int;
  static constexpr Handle null = -1;
  static void close(Handle fd) noexcept;
};
using UniqueFd = UniqueHandle<FdTraits>;

// Blocks SIGPIPE and SIGXFSZ in this thread, and consumes those that its scope raised. A write
// beyond RLIMIT_FSIZE then fails with EFBIG instead of ending the host.
class SignalBlock {
 public:
  SignalBlock();
  ~SignalBlock();
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;

 private:
  sigset_t added_{};  // those that were not pending before
  sigset_t previous_{};
};

// not_found if the file is absent, invalid_argument if it is larger than `limit_bytes`, io.
Result<std::string> read_file(const std::string& path, std::size_t limit_bytes);

// Writes all of `data`, however many calls that takes. io.
Status write_all(int fd, std::string_view data);

// Also through symbolic links; false if it cannot be told.
bool is_directory(const std::string& path);

// A file or directory that others made and may not change: after resolving links it belongs to the
// caller or root, and group and others cannot write it. not_found, io; invalid_argument if not so.
Status check_shared_file(const std::string& path);

// `path`, or its nearest parent that exists; links are not followed.
std::string nearest_existing(std::string path);

// Creates `path` and the missing part of its parents, each with mode 0700. io.
Status make_private_directories(const std::string& path);

// Holds an exclusive open-file-description lock on `path` (created 0600) until destroyed. The lock
// ends with the holder's process, however it ends. Polls, with jitter; busy after `timeout`, io.
Result<UniqueFd> lock_file(const std::string& path, std::chrono::milliseconds timeout);

std::string join_path(std::string_view directory, std::string_view name);

}  // namespace kiln
