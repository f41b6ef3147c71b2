// SPDX-License-Identifier: Apache-2.0
// The low-level SHA-256 calls are deprecated since OpenSSL 3.0 and still there in every 3.x.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "support/digest.h"

#include "support/text.h"

#include <cstring>

namespace kiln {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string Digest::hex() const {
  return to_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Result<Digest> Digest::from_hex(std::string_view hex) {
  if (hex.size() != 2 * kBytes) {
    return failure(Code::invalid_argument, "digest has {} characters; 64 are needed", hex.size());
  }
  Digest digest;
  for (std::size_t i = 0; i < kBytes; ++i) {
    const int high = hex_value(hex[2 * i]);
    const int low = hex_value(hex[2 * i + 1]);
    if (high < 0 || low < 0) {
      return failure(Code::invalid_argument, "digest \"{}\" is not hexadecimal", hex);
    }
    digest.bytes.at(i) = static_cast<std::uint8_t>(high * 16 + low);
  }
  return digest;
}

std::size_t DigestHash::operator()(const Digest& digest) const {
  std::size_t value = 0;
  std::memcpy(&value, digest.bytes.data(), sizeof(value));
  return value;
}

Hasher::Hasher() {
  SHA256_Init(&state_);
}

void Hasher::update(std::span<const std::byte> data) {
  SHA256_Update(&state_, data.data(), data.size());
}

void Hasher::update(std::string_view text) {
  update(std::as_bytes(std::span(text)));
}

void Hasher::field(std::string_view tag, std::string_view value) {
  for (std::string_view part : {tag, value}) {
    std::array<std::byte, 8> length{};
    for (std::size_t i = 0; i < length.size(); ++i) {
      length.at(i) = static_cast<std::byte>(part.size() >> (8 * i));
    }
    update(length);
    update(part);
  }
}

Digest Hasher::finish() {
  Digest digest;
  SHA256_Final(digest.bytes.data(), &state_);
  return digest;
}

Digest sha256(std::string_view text) {
  Hasher hasher;
  hasher.update(text);
  return hasher.finish();
}

}  // namespace kiln
