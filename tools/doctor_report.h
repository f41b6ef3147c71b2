// SPDX-License-Identifier: Apache-2.0
#pragma once

// What `kiln doctor` finds out. Looks only: creates no cache, compiles nothing. Whatever is missing
// is part of the report, not a failure.

#include "cache/directory.h"
#include "cache/pack.h"
#include "cache/pack_path.h"
#include "cache/store.h"
#include "jit/nvrtc.h"
#include "runtime/device.h"
#include "tools/invocation.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kiln {

enum class CacheState { usable, absent, memory_only };
std::string_view cache_state_name(CacheState state);

struct CacheReport {
  std::optional<CacheDirectory> directory;
  CacheState state = CacheState::memory_only;
  std::string reason;               // unless usable
  std::optional<StorePlace> place;  // unless there is none
  Store::Summary store;
  // Of the file system that holds the directory, or would.
  std::int64_t file_system_bytes = 0;
  std::int64_t available_bytes = 0;
};

struct PackReport {
  PackFile file;
  Pack::Summary summary;
  std::string reason;  // why it, or all that is in it, is refused; empty if it is not
};

struct DoctorReport {
  CacheReport cache;
  std::vector<PackReport> packs;
  std::string nvrtc_origin;  // how it was looked for
  Result<std::shared_ptr<const Nvrtc>> nvrtc;
  Result<int> driver_version;  // 13000 for 13.0
  Result<std::vector<Device>> devices;
  Result<std::size_t> template_count;
};

DoctorReport examine(const Invocation& invocation);

}  // namespace kiln
