// SPDX-License-Identifier: Apache-2.0
#pragma once

// A descriptor that a forked child does not keep, for what must end with this process: a child that
// inherited a locked file would hold its locks for as long as it lives.

#include "support/files.h"

#include <atomic>

namespace kiln {

class ForklessFd {
 public:
  ForklessFd() = default;
  // Not kept from children if the process has too many such descriptors already.
  explicit ForklessFd(UniqueFd fd);
  ForklessFd(ForklessFd&& other) noexcept;
  ForklessFd& operator=(ForklessFd&& other) noexcept;
  ~ForklessFd();

  // -1: none, or this is a child forked since.
  int get() const;
  explicit operator bool() const { return get() >= 0; }

 private:
  void reset() noexcept;

  std::atomic<int>* slot_ = nullptr;  // shared with the handler that runs in a child
  UniqueFd unshared_;
};

}  // namespace kiln
