// SPDX-License-Identifier: Apache-2.0
#include "tests/support/helper_process.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <limits>

namespace kiln::test {

HelperProcess::HelperProcess(const std::vector<std::string>& arguments) {
  // Not inherited by the helpers that follow, which would keep the pipe open.
  std::array<int, 2> pipe{};
  REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
  std::vector<std::string> words = {"helper", "helper"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  process_ = ::fork();
  REQUIRE(process_ >= 0);
  if (process_ == 0) {
    ::dup2(pipe[1], STDOUT_FILENO);
    ::execv("/proc/self/exe", pointers.data());
    ::_exit(127);
  }
  ::close(pipe[1]);
  numbers_ = pipe[0];
}

HelperProcess::~HelperProcess() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  ::close(numbers_);
}

bool HelperProcess::tell(std::uint32_t number) {
  // Whole or not at all: a pipe does not split so little.
  return ::write(STDOUT_FILENO, &number, sizeof(number)) == sizeof(number);
}

std::vector<std::uint32_t> HelperProcess::read(int count) const {
  std::vector<std::uint32_t> numbers;
  std::uint32_t number = 0;
  while (static_cast<int>(numbers.size()) < count &&
         ::read(numbers_, &number, sizeof(number)) == sizeof(number)) {
    numbers.push_back(number);
  }
  return numbers;
}

std::vector<std::uint32_t> HelperProcess::read_rest() const {
  return read(std::numeric_limits<int>::max());
}

int HelperProcess::kill_and_wait() {
  ::kill(process_, SIGKILL);
  return wait();
}

int HelperProcess::wait() {
  int status = 0;
  REQUIRE(::waitpid(process_, &status, 0) == process_);
  process_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace kiln::test
