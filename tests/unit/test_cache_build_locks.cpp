// SPDX-License-Identifier: Apache-2.0
#include "cache/build_locks.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>

namespace kiln {
namespace {

using test::TemporaryDirectory;

Digest digest(unsigned char first, unsigned char second = 0) {
  Digest result{};
  result.bytes[0] = first;
  result.bytes[1] = second;
  return result;
}

// A child process that runs `body`, says so, and stays until it is killed.
class Child {
 public:
  explicit Child(const std::function<void()>& body) {
    std::array<int, 2> pipe{};
    REQUIRE(::pipe(pipe.data()) == 0);
    process_ = ::fork();
    REQUIRE(process_ >= 0);
    if (process_ == 0) {
      ::close(pipe[0]);
      body();
      [[maybe_unused]] const ssize_t written = ::write(pipe[1], "!", 1);
      while (true)
        ::pause();
    }
    ::close(pipe[1]);
    char byte = 0;
    REQUIRE(::read(pipe[0], &byte, 1) == 1);
    ::close(pipe[0]);
  }
  ~Child() { kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void kill() {
    if (process_ < 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }

 private:
  pid_t process_ = -1;
};

}  // namespace

TEST_SUITE("BuildLocks") {
  TEST_CASE("one holder for a request, as many as there are requests") {
    const TemporaryDirectory directory;
    BuildLocks a(directory.path());
    BuildLocks b(directory.path());
    CHECK(*a.try_lock(digest(1)));
    CHECK_FALSE(*b.try_lock(digest(1)));
    CHECK(*b.try_lock(digest(2)));
    CHECK(*b.try_lock(digest(1, 1)));
    CHECK_FALSE(*a.try_lock(digest(2)));
    a.unlock(digest(1));
    CHECK(*b.try_lock(digest(1)));
  }

  TEST_CASE("the largest offset works") {
    const TemporaryDirectory directory;
    Digest largest{};
    largest.bytes.fill(0xFF);
    BuildLocks a(directory.path());
    BuildLocks b(directory.path());
    CHECK(*a.try_lock(largest));
    CHECK_FALSE(*b.try_lock(largest));
    CHECK(*b.try_lock(digest(0)));
  }

  TEST_CASE("a lock ends with its object") {
    const TemporaryDirectory directory;
    BuildLocks b(directory.path());
    {
      BuildLocks a(directory.path());
      CHECK(*a.try_lock(digest(1)));
      CHECK_FALSE(*b.try_lock(digest(1)));
    }
    CHECK(*b.try_lock(digest(1)));
  }

  TEST_CASE("a lock ends with its process") {
    const TemporaryDirectory directory;
    BuildLocks here(directory.path());
    Child child([&] {
      auto* locks = new BuildLocks(directory.path());  // held until the child is killed
      if (!*locks->try_lock(digest(1))) ::_exit(1);
    });
    CHECK_FALSE(*here.try_lock(digest(1)));
    child.kill();
    CHECK(*here.try_lock(digest(1)));
  }

  TEST_CASE("a child that outlives its parent does not keep the parent's lock") {
    const TemporaryDirectory directory;
    std::array<int, 2> pipe{};
    REQUIRE(::pipe(pipe.data()) == 0);
    BuildLocks here(directory.path());
    pid_t grandchild = -1;
    {
      Child parent([&] {
        auto* locks = new BuildLocks(directory.path());
        if (!*locks->try_lock(digest(1))) ::_exit(1);
        if (::fork() != 0) return;
        const pid_t self = ::getpid();
        [[maybe_unused]] const ssize_t written = ::write(pipe[1], &self, sizeof(self));
        while (true)
          ::pause();
      });
      REQUIRE(::read(pipe[0], &grandchild, sizeof(grandchild)) == sizeof(grandchild));
      CHECK_FALSE(*here.try_lock(digest(1)));
      parent.kill();
    }
    CHECK(::kill(grandchild, 0) == 0);
    CHECK(*here.try_lock(digest(1)));
    ::kill(grandchild, SIGKILL);
    ::close(pipe[0]);
    ::close(pipe[1]);
  }

  TEST_CASE("where no file can be there is a reason") {
    const TemporaryDirectory directory;
    BuildLocks missing(directory.path() + "/missing");
    const auto locked = missing.try_lock(digest(1));
    CHECK(locked.status().code() == Code::io);
    CHECK(locked.status().message().find("builds.lock") != std::string::npos);
    BuildLocks null_device("/dev/null");
    CHECK(null_device.try_lock(digest(1)).status().code() == Code::io);
  }

  TEST_CASE("a symbolic link is not followed") {
    const TemporaryDirectory directory;
    REQUIRE(::symlink("/dev/null", (directory.path() + "/builds.lock").c_str()) == 0);
    BuildLocks locks(directory.path());
    CHECK(locks.try_lock(digest(1)).status().code() == Code::io);
  }
}

}  // namespace kiln
