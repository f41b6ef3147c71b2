// SPDX-License-Identifier: Apache-2.0
#include "cache/range_locks.h"

#include "support/log.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

namespace kiln {
namespace {

struct flock one_byte(off_t byte, short type) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = 1;
  return range;
}

}  // namespace

RangeLocks::RangeLocks(std::string path) : path_(std::move(path)) {}

Result<int> RangeLocks::descriptor() {
  const std::lock_guard lock(mutex_);
  if (!fd_) {
    UniqueFd fd(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) return system_failure(Code::io, errno, path_);
    fd_ = ForklessFd(std::move(fd));
  }
  return fd_.get();
}

Result<bool> RangeLocks::try_lock(off_t byte, Kind kind) {
  KILN_TRY_ASSIGN(const int fd, descriptor());
  struct flock range = one_byte(byte, kind == Kind::exclusive ? F_WRLCK : F_RDLCK);
  if (::fcntl(fd, F_OFD_SETLK, &range) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return system_failure(Code::io, errno, path_);
}

void RangeLocks::unlock(off_t byte) {
  const auto fd = descriptor();
  struct flock range = one_byte(byte, F_UNLCK);
  if (!fd.is_ok() || ::fcntl(*fd, F_OFD_SETLK, &range) != 0) {
    log(LogLevel::info, "{}: byte {} is not unlocked", path_, byte);
  }
}

bool RangeLocks::is_locked_elsewhere(off_t byte) {
  const auto fd = descriptor();
  struct flock range = one_byte(byte, F_WRLCK);
  return fd.is_ok() && ::fcntl(*fd, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

}  // namespace kiln
