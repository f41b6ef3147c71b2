// SPDX-License-Identifier: Apache-2.0
#include "support/files.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <string>

namespace kiln {
namespace {

using std::chrono::milliseconds;
using test::TemporaryDirectory;

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

// Runs `body` in a child process, which must not use doctest; returns its exit code.
template <typename Body>
int in_child(Body&& body) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(body());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_SUITE("files") {
  TEST_CASE("a whole file is read, up to a limit") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("text");
    std::ofstream(path) << "twelve bytes";
    CHECK(*read_file(path, 12) == "twelve bytes");
    CHECK(read_file(path, 11).status().code() == Code::invalid_argument);
    CHECK(read_file(directory.file("none"), 12).status().code() == Code::not_found);
    CHECK(read_file(directory.path(), 12).status().code() == Code::io);
    CHECK(read_file(path + "/below", 12).status().code() == Code::not_found);
  }

  TEST_CASE("what is no regular file is refused, and nothing waits for it") {
    const TemporaryDirectory directory;
    REQUIRE(::mkfifo(directory.file("fifo").c_str(), 0600) == 0);
    CHECK(read_file(directory.file("fifo"), 12).status().code() == Code::io);
  }

  TEST_CASE("a file that does not know its size is read to its end") {
    const auto text = read_file("/proc/self/status", 1U << 20U);
    REQUIRE(text.is_ok());
    CHECK(text->find("Pid:") != std::string::npos);
  }

  TEST_CASE("directories are created with mode 0700, whatever the umask") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("a/b/c");
    CHECK(make_private_directories(path).is_ok());
    CHECK(mode_of(path) == 0700);
    CHECK(mode_of(directory.file("a")) == 0700);
    CHECK(make_private_directories(path).is_ok());
  }

  TEST_CASE("a file in the way of a directory is reported") {
    const TemporaryDirectory directory;
    std::ofstream(directory.file("a")) << "x";
    CHECK(make_private_directories(directory.file("a")).code() == Code::io);
    CHECK(make_private_directories(directory.file("a/b")).code() == Code::io);
  }

  TEST_CASE("a lock excludes other descriptors until it is released") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("lock");
    auto first = lock_file(path, milliseconds(0));
    REQUIRE(first.is_ok());
    CHECK(mode_of(path) == 0600);
    CHECK(lock_file(path, milliseconds(20)).status().code() == Code::busy);
    first->reset();
    CHECK(lock_file(path, milliseconds(0)).is_ok());
  }

  TEST_CASE("a lock ends with the process that held it") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("lock");
    const int code = in_child([&] { return lock_file(path, milliseconds(0)).is_ok() ? 0 : 1; });
    CHECK(code == 0);
    CHECK(lock_file(path, milliseconds(0)).is_ok());
  }

  TEST_CASE("paths are joined with one slash") {
    CHECK(join_path("/a", "b") == "/a/b");
    CHECK(join_path("/a/", "b") == "/a/b");
  }
}

TEST_SUITE("SignalBlock") {
  TEST_CASE("a write beyond the file size limit fails, and no signal reaches the process") {
    const TemporaryDirectory directory;
    const int code = in_child([&] {
      const rlimit limit{4, 4};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      const UniqueFd fd(::open(directory.file("f").c_str(), O_CREAT | O_WRONLY, 0600));
      const Status status = write_all(fd.get(), "more than four bytes");
      return status.native_code() == EFBIG ? 0 : 1;
    });
    CHECK(code == 0);
  }

  TEST_CASE("a write to a closed pipe fails, and no signal reaches the process") {
    const int code = in_child([] {
      int ends[2];
      if (::pipe(ends) != 0) return 2;
      ::close(ends[0]);
      return write_all(ends[1], "x").native_code() == EPIPE ? 0 : 1;
    });
    CHECK(code == 0);
  }

  TEST_CASE("a signal that was pending before stays pending") {
    const int code = in_child([] {
      sigset_t pipe_signal;
      sigemptyset(&pipe_signal);
      sigaddset(&pipe_signal, SIGPIPE);
      sigprocmask(SIG_BLOCK, &pipe_signal, nullptr);
      raise(SIGPIPE);
      { const SignalBlock block; }
      sigset_t pending;
      sigpending(&pending);
      return sigismember(&pending, SIGPIPE) == 1 ? 0 : 1;
    });
    CHECK(code == 0);
  }
}

}  // namespace kiln
