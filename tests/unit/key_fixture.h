// SPDX-License-Identifier: Apache-2.0
#pragma once

// Keys as OpenSSL's command line makes them.

#include <string>

namespace kiln::test {

// A new key: the private one in `base` + ".pem" (0600), the public one in `base` + ".pub" (0644).
// `type` is OpenSSL's name; with a password, the private one is encrypted.
void write_key_pair(const std::string& base,
                    const char* type = "ED25519",
                    const std::string& password = "");

}  // namespace kiln::test
