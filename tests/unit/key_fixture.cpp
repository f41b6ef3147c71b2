// SPDX-License-Identifier: Apache-2.0
#include "key_fixture.h"

#include "support/signature.h"

#include <doctest/doctest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <sys/stat.h>

#include <cstdio>

namespace kiln::test {

void write_key_pair(const std::string& base, const char* type, const std::string& password) {
  const std::string name(type);
  const KeyHandle key(name == "RSA"  ? EVP_RSA_gen(2048)
                      : name == "EC" ? EVP_EC_gen("P-256")
                                     : EVP_PKEY_Q_keygen(nullptr, nullptr, type));
  REQUIRE(key != nullptr);
  std::FILE* file = std::fopen((base + ".pem").c_str(), "w");
  REQUIRE(file != nullptr);
  REQUIRE(PEM_write_PKCS8PrivateKey(file, key.get(), password.empty() ? nullptr : EVP_aes_256_cbc(),
                                    password.data(), static_cast<int>(password.size()), nullptr,
                                    nullptr) == 1);
  std::fclose(file);
  file = std::fopen((base + ".pub").c_str(), "w");
  REQUIRE(file != nullptr);
  REQUIRE(PEM_write_PUBKEY(file, key.get()) == 1);
  std::fclose(file);
  REQUIRE(::chmod((base + ".pem").c_str(), 0600) == 0);
  REQUIRE(::chmod((base + ".pub").c_str(), 0644) == 0);
}

}  // namespace kiln::test
