// SPDX-License-Identifier: Apache-2.0
#pragma once

// One builder at a time for each request, among all processes that share a cache directory. A
// builder locks a byte at an offset of 63 bits of the request's digest, so requests do not get in
// each other's way. Advice, not safety: whoever cannot get a lock may build all the same, as the
// store takes whatever comes.

#include "cache/range_locks.h"
#include "support/digest.h"
#include "support/status.h"

#include <string>

namespace kiln {

class BuildLocks {
 public:
  explicit BuildLocks(const std::string& cache_directory);

  // Whether it was free; no other thread of this process may ask for the same meanwhile. io where
  // the file system has no such locks, or none to spare.
  Result<bool> try_lock(const Digest& request);
  void unlock(const Digest& request);

 private:
  RangeLocks locks_;
};

}  // namespace kiln
