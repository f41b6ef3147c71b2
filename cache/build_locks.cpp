// SPDX-License-Identifier: Apache-2.0
#include "cache/build_locks.h"

#include "support/files.h"
#include "support/log.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace kiln {
namespace {

off_t offset_of(const Digest& request) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, request.bytes.data(), sizeof(bits));
  return static_cast<off_t>(bits >> 1U);
}

}  // namespace

BuildLocks::BuildLocks(const std::string& cache_directory)
    : path_(join_path(cache_directory, "builds.lock")) {}

Result<int> BuildLocks::descriptor() {
  const std::lock_guard lock(mutex_);
  if (!fd_) {
    UniqueFd fd(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) return system_failure(Code::io, errno, path_);
    fd_ = ForklessFd(std::move(fd));
  }
  return fd_.get();
}

Status BuildLocks::set(short type, const Digest& request) {
  KILN_TRY_ASSIGN(const int fd, descriptor());
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = offset_of(request);
  range.l_len = 1;
  if (::fcntl(fd, F_OFD_SETLK, &range) == 0) return {};
  if (errno == EAGAIN || errno == EACCES) {
    return failure(Code::busy, "another process builds {}", request.hex());
  }
  return system_failure(Code::io, errno, path_);
}

Result<bool> BuildLocks::try_lock(const Digest& request) {
  const Status status = set(F_WRLCK, request);
  if (status.code() == Code::busy) return false;
  KILN_TRY(status);
  return true;
}

void BuildLocks::unlock(const Digest& request) {
  const Status status = set(F_UNLCK, request);
  if (!status.is_ok()) log(LogLevel::info, "unlocking: {}", status.message());
}

}  // namespace kiln
