// SPDX-License-Identifier: Apache-2.0
#pragma once

// A pack: a file of entries that somebody chose, made to be shared and never changed
// (docs/cache-format.md). Whatever is read is verified, and with trusted keys must be signed by one
// of them. Not thread-safe; its connection must not be used in a forked child.

#include "cache/entry.h"
#include "cache/store.h"
#include "support/signature.h"
#include "support/status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kiln {

class Connection;

// What is believed of packs.
struct PackTrust {
  TrustedKeys keys = {};
  bool others = false;  // files that others own or can write
};

class Pack {
 public:
  // As open_pack_file(), with the path named. `trust` is borrowed.
  static Result<std::unique_ptr<Pack>> open(const std::string& path, const PackTrust& trust);
  ~Pack();
  Pack(const Pack&) = delete;
  Pack& operator=(const Pack&) = delete;

  const std::string& path() const { return path_; }

  // The newest sound entry. Why others were refused is appended to `refusals`. corrupt or io if the
  // pack cannot be read.
  Result<std::optional<Store::Found>> find(LookUp by,
                                           const Digest& digest,
                                           std::vector<Status>& refusals);

  struct Entry {
    std::int64_t row = 0;
    StoredEntry stored = {};  // what could be read, if refused
    std::string image = {};   // uncompressed; empty if refused
    Status refusal = {};
  };
  // Every entry, one in memory at a time, all checked in every way there is. Ends with the first
  // failure of `each`; corrupt or io if the pack cannot be read on.
  Status visit(const std::function<Status(const Entry&)>& each);

  struct Summary {
    std::int64_t entries = 0;
    std::int64_t unsigned_entries = 0;
    std::int64_t untrusted_entries = 0;  // 0 without trusted keys
    std::vector<Digest> signed_by = {};  // as the pack says; at most 16
  };
  Result<Summary> summary();

  // What `kiln verify` says of a pack.
  Result<Store::Verification> verify();

 private:
  Pack(std::string path, std::unique_ptr<Connection> connection, const PackTrust& trust);
  Status check_signature(std::int64_t id, const Digest& entry_sha256);

  std::string path_;
  std::unique_ptr<Connection> connection_;
  const PackTrust& trust_;
};

}  // namespace kiln
