// SPDX-License-Identifier: Apache-2.0
#pragma once

// Locks between processes: each is an open-file-description lock on one byte of a file, which stays
// empty. A lock ends with its holder, however that ends. One object is one holder: its threads do
// not keep each other out. Thread-safe.

#include "support/forkless_fd.h"
#include "support/status.h"

#include <sys/types.h>

#include <mutex>
#include <string>

namespace kiln {

class RangeLocks {
 public:
  enum class Kind { shared, exclusive };

  // The file is made (0600) by the first lock.
  explicit RangeLocks(std::string path);

  // Whether it was to be had. io where the file system has no such locks, or none to spare.
  Result<bool> try_lock(off_t byte, Kind kind = Kind::exclusive);
  void unlock(off_t byte);
  // Whether another holder has a lock of either kind; false where that cannot be told.
  bool is_locked_elsewhere(off_t byte);

 private:
  Result<int> descriptor();

  std::string path_;
  std::mutex mutex_;  // guards the opening
  ForklessFd fd_;
};

}  // namespace kiln
