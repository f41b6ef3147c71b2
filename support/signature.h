// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ed25519 signatures over an entry's digest, with keys as `openssl genpkey -algorithm ed25519`
// makes them. Whoever asks for no signature pays for nothing here: OpenSSL's EVP interface is first
// used when a key is read. Immutable after reading, and then thread-safe.

#include "support/digest.h"
#include "support/status.h"

#include <openssl/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace kiln {

struct Signature {
  static constexpr std::size_t kBytes = 64;
  Digest
      key_sha256;  // of the public key's DER form: `openssl pkey -pubout -outform DER | sha256sum`
  std::array<std::uint8_t, kBytes> bytes{};
};

struct KeyFree {
  void operator()(EVP_PKEY* key) const noexcept;
};
using KeyHandle = std::unique_ptr<EVP_PKEY, KeyFree>;

class SigningKey {
 public:
  // A private key in PEM, in a file that is closed to group and others. not_found, io;
  // invalid_argument for another kind of key, an encrypted one, none, and a file that is open.
  static Result<SigningKey> read(const std::string& path);

  const Digest& sha256() const { return sha256_; }
  Result<Signature> sign(const Digest& entry_sha256) const;

 private:
  SigningKey(KeyHandle key, const Digest& sha256) : key_(std::move(key)), sha256_(sha256) {}
  KeyHandle key_;
  Digest sha256_;
};

// Whose signatures count. With none, nothing needs one.
class TrustedKeys {
 public:
  // Public keys in PEM, one a file, that belong to the caller or root and that nobody else can
  // write, unless `trust_others`. not_found, invalid_argument, io.
  static Result<TrustedKeys> read(std::span<const std::string> paths, bool trust_others);

  bool is_empty() const { return keys_.empty(); }
  bool contains(const Digest& key_sha256) const { return find(key_sha256) != nullptr; }
  // corrupt unless one of these keys made the signature, of this digest. Not to be asked if empty.
  Status check(const Signature& signature, const Digest& entry_sha256) const;

 private:
  struct Key {
    KeyHandle handle;
    Digest sha256;
  };
  const Key* find(const Digest& key_sha256) const;

  std::vector<Key> keys_;
};

// Enough of a key's SHA-256 to name it by.
std::string short_key_name(const Digest& key_sha256);

}  // namespace kiln
