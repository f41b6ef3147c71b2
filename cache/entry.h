// SPDX-License-Identifier: Apache-2.0
#pragma once

// One stored artifact with its facts, and the digest that covers them: key, facts and stored image.
// What changes by use (hits, last use, pins) is not in here.

#include "jit/artifact.h"
#include "support/digest.h"
#include "support/status.h"

#include <cstdint>
#include <string>

namespace kiln {

struct EntryFacts {
  Digest key;
  Digest request;
  std::string template_name;
  std::string spec;  // canonical, every parameter
  std::string target;
  std::string toolchain;
  std::string lowered_name;
  std::string layout;  // canonical JSON: [[offset, size], …]
  Resources resources;
  std::string key_fields;  // KeyFields::to_json()
  std::string log;
  std::int64_t compile_us = 0;
  std::int64_t created_at = 0;   // Unix time, s
  std::int64_t image_bytes = 0;  // uncompressed

  bool operator==(const EntryFacts&) const = default;
};

// An entry as a database keeps it.
struct StoredEntry {
  EntryFacts facts;
  Digest entry_sha256;
  std::string image;  // compressed
};

// Covers every member of `facts` and the image as stored (compressed).
Digest entry_digest(const EntryFacts& facts, std::string_view stored_image);

EntryFacts make_facts(const Digest& key,
                      const Digest& request,
                      std::string template_name,
                      std::string spec,
                      std::string key_fields,
                      const Artifact& artifact,
                      std::int64_t created_at);

// Back to an artifact; `image` is uncompressed. corrupt if layout or target do not parse.
Result<Artifact> make_artifact(const EntryFacts& facts, std::string image);

// Most bytes of one text among the facts.
constexpr std::size_t kLongestFact = 1 << 20;

// zstd. io or out_of_memory on failure.
Result<std::string> compress_image(std::string_view image);
Result<std::string> compress_text(std::string_view text);
// corrupt unless the frame holds exactly `image_bytes`, which must be at most 64 MiB.
Result<std::string> decompress_image(std::string_view stored, std::int64_t image_bytes);
// corrupt unless it is one frame of at most kLongestFact bytes.
Result<std::string> decompress_text(std::string_view stored);

}  // namespace kiln
