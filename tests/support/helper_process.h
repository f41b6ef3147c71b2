// SPDX-License-Identifier: Apache-2.0
#pragma once

// The test program once more, as a process that may be killed: started as
//   <program> helper <arguments…>
// whose main() must recognize that. What it did it tells in numbers, through its stdout.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::test {

class HelperProcess {
 public:
  explicit HelperProcess(const std::vector<std::string>& arguments);
  ~HelperProcess();  // kills it
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  // In the helper. false if nobody reads any more.
  static bool tell(std::uint32_t number);

  // The next `count` numbers, waiting for them; fewer if the helper has ended.
  std::vector<std::uint32_t> read(int count) const;
  // All that are left; the helper has ended.
  std::vector<std::uint32_t> read_rest() const;

  // The exit status, or 128 + n if signal n ended it.
  int kill_and_wait();
  int wait();

 private:
  pid_t process_ = -1;
  int numbers_ = -1;
};

}  // namespace kiln::test
