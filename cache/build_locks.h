// SPDX-License-Identifier: Apache-2.0
#pragma once

// One builder at a time for each request, among all processes that share a cache directory. A
// builder has an open-file-description lock on one byte of a file, at an offset of 63 bits of the
// request's digest: requests do not get in each other's way, the file stays empty, and a lock ends
// with its holder, however that ends. Advice, not safety: whoever cannot get a lock may build all
// the same, as the store takes whatever comes.

#include "support/digest.h"
#include "support/forkless_fd.h"
#include "support/status.h"

#include <mutex>
#include <string>

namespace kiln {

class BuildLocks {
 public:
  // The file is made (0600) by the first lock.
  explicit BuildLocks(const std::string& cache_directory);

  // Whether it was free; no other thread of this process may ask for the same meanwhile. io where
  // the file system has no such locks, or none to spare.
  Result<bool> try_lock(const Digest& request);
  void unlock(const Digest& request);

 private:
  Status set(short type, const Digest& request);
  Result<int> descriptor();

  std::string path_;
  std::mutex mutex_;  // guards the opening
  ForklessFd fd_;
};

}  // namespace kiln
