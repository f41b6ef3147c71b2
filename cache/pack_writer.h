// SPDX-License-Identifier: Apache-2.0
#pragma once

// Makes packs. A pack is written under a name that nobody looks for, completed, synchronized, and
// renamed into place, so that whoever opens it sees all of it.

#include "cache/store.h"
#include "support/digest.h"
#include "support/signature.h"
#include "support/status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kiln {

struct PackRequest {
  std::string directory;
  std::optional<std::string> name = {};  // nullopt: the digest of what is in it, and ".kpack"
  std::vector<Digest> keys;
  const SigningKey* signer = nullptr;
  bool may_replace = false;
};

struct WrittenPack {
  std::string path;
  std::int64_t entries = 0;
  std::int64_t left_out = 0;  // keys that have no sound entry
  std::int64_t file_bytes = 0;
};

// Copies entries of `store` into a new pack, mode 0644 less the umask. The same entries give the
// same bytes. not_found if there is none; invalid_argument if the name is taken and may not be
// replaced; io, busy. Nothing is left behind unless the process is killed.
Result<WrittenPack> write_pack(Store& store, PackRequest request);

}  // namespace kiln
