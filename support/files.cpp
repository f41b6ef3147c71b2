// SPDX-License-Identifier: Apache-2.0
#include "support/files.h"

#include "support/backoff.h"
#include "support/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace kiln {

void FdTraits::close(Handle fd) noexcept {
  if (::close(fd) != 0) log(LogLevel::warning, "closing descriptor {}: errno {}", fd, errno);
}

SignalBlock::SignalBlock() {
  sigset_t pending;
  sigemptyset(&pending);
  sigpending(&pending);
  sigset_t ours;
  sigemptyset(&ours);
  sigemptyset(&added_);
  for (int signal : {SIGPIPE, SIGXFSZ}) {
    sigaddset(&ours, signal);
    if (sigismember(&pending, signal) == 0) sigaddset(&added_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &ours, &previous_);
}

SignalBlock::~SignalBlock() {
  const timespec now{};
  while (sigtimedwait(&added_, nullptr, &now) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

Result<std::string> read_file(const std::string& path, std::size_t limit_bytes) {
  // O_NONBLOCK: to open a FIFO must not wait for whoever writes it.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) {
    const bool is_absent = errno == ENOENT || errno == ENOTDIR;
    return system_failure(is_absent ? Code::not_found : Code::io, errno, path);
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return system_failure(Code::io, errno, path);
  if (!S_ISREG(status.st_mode)) return failure(Code::io, "{} is not a regular file", path);
  std::string text;
  text.resize(std::min(limit_bytes, static_cast<std::size_t>(status.st_size)) + 1);
  std::size_t size = 0;
  while (true) {
    if (size == text.size()) text.resize(2 * size);
    const ssize_t count = ::read(fd.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_failure(Code::io, errno, path);
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
    if (size > limit_bytes) {
      return failure(Code::invalid_argument, "{} is larger than {} bytes", path, limit_bytes);
    }
  }
  text.resize(size);
  return text;
}

Status write_all(int fd, std::string_view data) {
  const SignalBlock block;
  while (!data.empty()) {
    const ssize_t count = ::write(fd, data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_failure(Code::io, errno, "write");
    data.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Status check_shared_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    const bool is_absent = errno == ENOENT || errno == ENOTDIR;
    return system_failure(is_absent ? Code::not_found : Code::io, errno, path);
  }
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return failure(Code::invalid_argument, "{} belongs to user {}; allowed: {} and root", path,
                   status.st_uid, ::geteuid());
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return failure(Code::invalid_argument,
                   "{} has mode {:04o}; group and others must not be able to write it", path,
                   status.st_mode & 07777U);
  }
  return {};
}

Status make_private_directories(const std::string& path) {
  for (std::size_t end = path.find('/', 1); true; end = path.find('/', end + 1)) {
    const std::string prefix = path.substr(0, end);
    if (::mkdir(prefix.c_str(), 0700) != 0 && errno != EEXIST) {
      // A parent that exists on a read-only file system answers EROFS, not EEXIST.
      const int error = errno;
      if (!is_directory(prefix)) return system_failure(Code::io, error, prefix);
    }
    if (end == std::string::npos) break;
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return system_failure(Code::io, errno, path);
  if (!S_ISDIR(status.st_mode)) return system_failure(Code::io, ENOTDIR, path);
  return {};
}

Result<UniqueFd> lock_file(const std::string& path, std::chrono::milliseconds timeout) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return system_failure(Code::io, errno, path);
  struct flock whole_file {};
  whole_file.l_type = F_WRLCK;
  whole_file.l_whence = SEEK_SET;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  Backoff backoff(std::chrono::milliseconds(25));
  while (::fcntl(fd.get(), F_OFD_SETLK, &whole_file) != 0) {
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
      return system_failure(Code::io, errno, path);
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      return failure(Code::busy, "{} was locked for {} ms", path, timeout.count());
    }
    backoff.pause();
  }
  return fd;
}

std::string nearest_existing(std::string path) {
  const auto exists = [](const std::string& name) {
    struct stat status {};
    return ::lstat(name.c_str(), &status) == 0;
  };
  while (path.size() > 1 && !exists(path)) {
    const std::size_t slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
    if (path.empty()) path = "/";
  }
  return path;
}

std::string join_path(std::string_view directory, std::string_view name) {
  return fmt::format("{}{}{}", directory, directory.ends_with('/') ? "" : "/", name);
}

}  // namespace kiln
