// SPDX-License-Identifier: Apache-2.0
#include "key_fixture.h"
#include "support/signature.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace kiln::test {
namespace {

Result<TrustedKeys> read_keys(const std::vector<std::string>& paths, bool trust_others = false) {
  return TrustedKeys::read(paths, trust_others);
}

// Refused as invalid_argument, and the message has `part`.
void check_refused(const Status& status, std::string_view part) {
  CAPTURE(status.message());
  CHECK(status.code() == Code::invalid_argument);
  CHECK(status.message().find(part) != std::string::npos);
}

TEST_SUITE("Signature") {
  TEST_CASE("is accepted from a trusted key, of the same digest, and not otherwise") {
    const TemporaryDirectory directory;
    write_key_pair(directory.file("a"));
    write_key_pair(directory.file("b"));
    const auto signer = SigningKey::read(directory.file("a.pem"));
    REQUIRE(signer.is_ok());
    const Digest digest = sha256("entry");
    const Signature signature = *signer->sign(digest);
    const auto both = read_keys({directory.file("b.pub"), directory.file("a.pub")});
    REQUIRE(both.is_ok());
    CHECK(both->contains(signer->sha256()));
    CHECK(both->check(signature, digest).is_ok());
    CHECK(both->check(signature, sha256("other")).code() == Code::corrupt);
    for (std::size_t i = 0; i < Signature::kBytes; i += 9) {
      Signature changed = signature;
      changed.bytes.at(i) ^= 1;
      CHECK(both->check(changed, digest).code() == Code::corrupt);
    }
    const auto other = read_keys({directory.file("b.pub")});
    CHECK(other->check(signature, digest).message().find("not trusted") != std::string::npos);
    // Under the name of a trusted key, with another's signature.
    Signature forged = signature;
    forged.key_sha256 = SigningKey::read(directory.file("b.pem"))->sha256();
    CHECK(other->check(forged, digest).message() == "its signature is wrong");
  }

  TEST_CASE("is what openssl pkeyutl -sign -rawin makes of the documented message") {
    const TemporaryDirectory directory;
    std::ofstream(directory.file("k.pem"))
        << "-----BEGIN PRIVATE KEY-----\n"
           "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
           "-----END PRIVATE KEY-----\n";
    REQUIRE(::chmod(directory.file("k.pem").c_str(), 0600) == 0);
    const auto signer = SigningKey::read(directory.file("k.pem"));
    REQUIRE(signer.is_ok());
    CHECK(signer->sha256().hex() ==
          "a1e9156054e04fac899ae9f275132cdc07a5dbc4ea2c2ad3a1ffc6e0d253681f");
    const Signature signature = *signer->sign(sha256("entry"));
    CHECK(
        sha256({reinterpret_cast<const char*>(signature.bytes.data()), Signature::kBytes}).hex() ==
        "487d13689a97cb0fc79721e29691218015351b54fb3f3ca675b6d21d167e7286");
  }

  TEST_CASE(
      "a key of another kind, an encrypted one, garbage and none are refused with the reason") {
    const TemporaryDirectory directory;
    for (const char* type : {"RSA", "EC", "X25519"}) {
      write_key_pair(directory.file(type), type);
      const std::string base = directory.file(type);
      check_refused(SigningKey::read(base + ".pem").status(), type);
      check_refused(read_keys({base + ".pub"}).status(), type);
    }
    write_key_pair(directory.file("locked"), "ED25519", "secret");
    check_refused(SigningKey::read(directory.file("locked.pem")).status(), "encrypted");
    write_key_pair(directory.file("good"));
    check_refused(SigningKey::read(directory.file("good.pub")).status(), "mode 0644");
    REQUIRE(::chmod(directory.file("good.pub").c_str(), 0600) == 0);
    check_refused(SigningKey::read(directory.file("good.pub")).status(), "private key in PEM");
    check_refused(read_keys({directory.file("good.pem")}).status(), "public key in PEM");
    std::ofstream(directory.file("garbage")) << std::string(5000, '\xFF');
    std::ofstream(directory.file("empty"));
    std::ofstream(directory.file("huge")) << std::string(100000, 'A');
    for (const char* name : {"garbage", "empty", "huge"}) {
      REQUIRE(::chmod(directory.file(name).c_str(), 0600) == 0);
      check_refused(SigningKey::read(directory.file(name)).status(), name);
      check_refused(read_keys({directory.file(name)}).status(), name);
    }
    CHECK(SigningKey::read(directory.path()).status().code() == Code::io);
    CHECK(read_keys({directory.path()}).status().code() == Code::io);
    CHECK(SigningKey::read(directory.file("absent")).status().code() == Code::not_found);
    CHECK(read_keys({directory.file("absent")}).status().code() == Code::not_found);
  }

  TEST_CASE("a private key that others can read, a public one that they can write are refused") {
    const TemporaryDirectory directory;
    write_key_pair(directory.file("k"));
    for (const mode_t mode : {0640U, 0604U, 0620U}) {
      REQUIRE(::chmod(directory.file("k.pem").c_str(), mode) == 0);
      check_refused(SigningKey::read(directory.file("k.pem")).status(), "closed to group");
    }
    for (const mode_t mode : {0664U, 0646U}) {
      REQUIRE(::chmod(directory.file("k.pub").c_str(), mode) == 0);
      check_refused(read_keys({directory.file("k.pub")}).status(), "must not be able to write");
      CHECK(read_keys({directory.file("k.pub")}, true).is_ok());
    }
  }
}

}  // namespace
}  // namespace kiln::test
