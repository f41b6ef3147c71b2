// SPDX-License-Identifier: Apache-2.0
#pragma once

// SHA-256, through OpenSSL's low-level calls: the first use of the EVP interface costs 0.8 ms and
// reads a configuration file, which the disk-hit path cannot afford. No other file may use OpenSSL
// for hashing.

#include "support/status.h"

#include <openssl/sha.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kiln {

struct Digest {
  static constexpr std::size_t kBytes = 32;
  std::array<std::uint8_t, kBytes> bytes{};

  auto operator<=>(const Digest&) const = default;
  std::string hex() const;  // 64 lower-case digits
  // invalid_argument unless `hex` has exactly 64 hexadecimal digits.
  static Result<Digest> from_hex(std::string_view hex);
};

// std::hash-like functor: a digest is already uniformly distributed.
struct DigestHash {
  std::size_t operator()(const Digest& digest) const;
};

class Hasher {
 public:
  Hasher();
  void update(std::span<const std::byte> data);
  void update(std::string_view text);
  // One tagged, length-prefixed field: no two different sequences of fields feed the same bytes.
  void field(std::string_view tag, std::string_view value);
  Digest finish();

 private:
  SHA256_CTX state_{};
};

Digest sha256(std::string_view text);

}  // namespace kiln
