// SPDX-License-Identifier: Apache-2.0
#include "tools/interrupt.h"

#include <atomic>

namespace kiln {
namespace {

// A signal handler can reach nothing but a global.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<bool> is_raised{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// The next signal of either kind ends the program.
void note(int /*signal*/) {
  is_raised.store(true);
  struct sigaction fallback {};
  fallback.sa_handler = SIG_DFL;
  ::sigaction(SIGINT, &fallback, nullptr);
  ::sigaction(SIGTERM, &fallback, nullptr);
}

}  // namespace

InterruptWatch::InterruptWatch() {
  is_raised.store(false);
  struct sigaction action {};
  action.sa_handler = note;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, &previous_interrupt_);
  ::sigaction(SIGTERM, &action, &previous_termination_);
  // Started with a signal ignored, as by nohup: it stays so.
  if (previous_interrupt_.sa_handler == SIG_IGN) {
    ::sigaction(SIGINT, &previous_interrupt_, nullptr);
  }
  if (previous_termination_.sa_handler == SIG_IGN) {
    ::sigaction(SIGTERM, &previous_termination_, nullptr);
  }
}

InterruptWatch::~InterruptWatch() {
  ::sigaction(SIGINT, &previous_interrupt_, nullptr);
  ::sigaction(SIGTERM, &previous_termination_, nullptr);
}

bool InterruptWatch::is_interrupted() {
  return is_raised.load();
}

}  // namespace kiln
