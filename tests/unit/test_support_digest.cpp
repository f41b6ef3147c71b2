// SPDX-License-Identifier: Apache-2.0
#include "support/digest.h"

#include <doctest/doctest.h>

#include <string>

namespace kiln {

TEST_SUITE("Digest") {
  TEST_CASE("SHA-256 gives the vectors of FIPS 180-2") {
    CHECK(sha256("abc").hex() ==
          "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(sha256("").hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(sha256(std::string(1000000, 'a')).hex() ==
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }

  TEST_CASE("hexadecimal text goes there and back") {
    const Digest digest = sha256("kiln");
    CHECK(*Digest::from_hex(digest.hex()) == digest);
    std::string upper = digest.hex();
    for (char& c : upper)
      c = static_cast<char>(std::toupper(c));
    CHECK(*Digest::from_hex(upper) == digest);
  }

  TEST_CASE("text that is no digest is refused") {
    CHECK(Digest::from_hex("").status().code() == Code::invalid_argument);
    CHECK(Digest::from_hex(std::string(63, 'a')).status().code() == Code::invalid_argument);
    CHECK(Digest::from_hex(std::string(65, 'a')).status().code() == Code::invalid_argument);
    CHECK(Digest::from_hex(std::string(63, 'a') + "g").status().code() == Code::invalid_argument);
  }
}

TEST_SUITE("Hasher") {
  TEST_CASE("a byte moved between neighbouring fields changes the digest") {
    const auto digest = [](std::string_view a, std::string_view b) {
      Hasher hasher;
      hasher.field("a", a);
      hasher.field("b", b);
      return hasher.finish();
    };
    CHECK(digest("xy", "z") != digest("x", "yz"));
    CHECK(digest("xyz", "") != digest("", "xyz"));
    CHECK(digest("x", "y") == digest("x", "y"));
  }

  TEST_CASE("a field is tag and value, each behind its length in eight bytes") {
    Hasher hasher;
    hasher.field("tag", "value");
    using namespace std::string_literals;
    CHECK(hasher.finish() == sha256("\3\0\0\0\0\0\0\0tag\5\0\0\0\0\0\0\0value"s));
  }
}

}  // namespace kiln
