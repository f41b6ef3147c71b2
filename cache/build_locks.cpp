// SPDX-License-Identifier: Apache-2.0
#include "cache/build_locks.h"

#include "support/files.h"

#include <cstdint>
#include <cstring>

namespace kiln {
namespace {

off_t offset_of(const Digest& request) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, request.bytes.data(), sizeof(bits));
  return static_cast<off_t>(bits >> 1U);
}

}  // namespace

BuildLocks::BuildLocks(const std::string& cache_directory)
    : locks_(join_path(cache_directory, "builds.lock")) {}

Result<bool> BuildLocks::try_lock(const Digest& request) {
  return locks_.try_lock(offset_of(request));
}

void BuildLocks::unlock(const Digest& request) {
  locks_.unlock(offset_of(request));
}

}  // namespace kiln
