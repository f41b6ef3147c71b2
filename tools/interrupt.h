// SPDX-License-Identifier: Apache-2.0
#pragma once

// Notes SIGINT and SIGTERM instead of dying of them, once each: a second one ends the program as
// usual.

#include <csignal>

namespace kiln {

// At most one at a time.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  // Whether a signal came since the watch began. Any thread.
  static bool is_interrupted();

 private:
  struct sigaction previous_interrupt_ {};
  struct sigaction previous_termination_ {};
};

}  // namespace kiln
