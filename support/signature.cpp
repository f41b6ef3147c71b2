// SPDX-License-Identifier: Apache-2.0
#include "support/signature.h"

#include "support/files.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace kiln {
namespace {

constexpr std::size_t kLargestKeyFile = 16384;
// What is signed: no signature of something else by the same key can stand for one of an entry.
constexpr std::string_view kDomain("kiln entry signature 1\0", 23);

struct BioFree {
  void operator()(BIO* bio) const noexcept { BIO_free(bio); }
};
struct ContextFree {
  void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, ContextFree>;

// OpenSSL's queue of errors belongs to the thread: what is in it must not stay for the host.
Status crypto_failure(std::string_view what) {
  ERR_clear_error();
  return failure(Code::internal, "libcrypto: {} failed", what);
}

void prepare_crypto() {
  // The host's configuration and its exit are none of this copy's business.
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr);
}

// OpenSSL would ask on the terminal.
int refuse_password(char* /*buffer*/, int /*size*/, int /*is_writing*/, void* was_asked) {
  *static_cast<bool*>(was_asked) = true;
  return -1;
}

using ReadPem = EVP_PKEY* (*)(BIO*, EVP_PKEY**, pem_password_cb*, void*);

Result<KeyHandle> parse_key(const std::string& path,
                            const std::string& text,
                            ReadPem read,
                            std::string_view kind) {
  prepare_crypto();
  const std::unique_ptr<BIO, BioFree> bio(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (bio == nullptr) return crypto_failure("BIO_new_mem_buf");
  bool is_encrypted = false;
  KeyHandle key(read(bio.get(), nullptr, refuse_password, &is_encrypted));
  ERR_clear_error();
  if (is_encrypted) {
    return failure(Code::invalid_argument, "{} is encrypted; a key without a password is needed",
                   path);
  }
  if (key == nullptr) {
    return failure(Code::invalid_argument, "{} has no Ed25519 {} key in PEM", path, kind);
  }
  if (EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519) {
    const char* name = EVP_PKEY_get0_type_name(key.get());
    return failure(Code::invalid_argument, "{} has a {} key; an Ed25519 {} key is needed", path,
                   name == nullptr ? "strange" : name, kind);
  }
  return key;
}

Result<Digest> public_key_sha256(const KeyHandle& key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key.get(), &der);
  if (size <= 0) return crypto_failure("i2d_PUBKEY");
  const Digest digest =
      kiln::sha256({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)});
  OPENSSL_free(der);
  return digest;
}

std::string message_of(const Digest& entry_sha256) {
  std::string message(kDomain);
  message.append(entry_sha256.bytes.begin(), entry_sha256.bytes.end());
  return message;
}

const unsigned char* bytes_of(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

void KeyFree::operator()(EVP_PKEY* key) const noexcept {
  EVP_PKEY_free(key);
}

Result<SigningKey> SigningKey::read(const std::string& path) {
  KILN_TRY_ASSIGN(const std::string text, read_file(path, kLargestKeyFile));
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return system_failure(Code::io, errno, path);
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return failure(Code::invalid_argument,
                   "{} has mode {:04o}; a private key must be closed to group and others", path,
                   status.st_mode & 07777U);
  }
  KILN_TRY_ASSIGN(KeyHandle key, parse_key(path, text, PEM_read_bio_PrivateKey, "private"));
  KILN_TRY_ASSIGN(const Digest sha256, public_key_sha256(key));
  return SigningKey(std::move(key), sha256);
}

Result<Signature> SigningKey::sign(const Digest& entry_sha256) const {
  const Context context(EVP_MD_CTX_new());
  if (context == nullptr ||
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) != 1) {
    return crypto_failure("EVP_DigestSignInit");
  }
  Signature signature{.key_sha256 = sha256_, .bytes = {}};
  std::size_t size = signature.bytes.size();
  const std::string message = message_of(entry_sha256);
  if (EVP_DigestSign(context.get(), signature.bytes.data(), &size, bytes_of(message),
                     message.size()) != 1 ||
      size != Signature::kBytes) {
    return crypto_failure("EVP_DigestSign");
  }
  return signature;
}

Result<TrustedKeys> TrustedKeys::read(std::span<const std::string> paths, bool trust_others) {
  TrustedKeys trusted;
  for (const std::string& path : paths) {
    KILN_TRY_ASSIGN(const std::string text, read_file(path, kLargestKeyFile));
    if (!trust_others) KILN_TRY(check_shared_file(path));
    KILN_TRY_ASSIGN(KeyHandle key, parse_key(path, text, PEM_read_bio_PUBKEY, "public"));
    KILN_TRY_ASSIGN(const Digest sha256, public_key_sha256(key));
    trusted.keys_.push_back({std::move(key), sha256});
  }
  return trusted;
}

const TrustedKeys::Key* TrustedKeys::find(const Digest& key_sha256) const {
  const auto found = std::find_if(keys_.begin(), keys_.end(),
                                  [&](const Key& key) { return key.sha256 == key_sha256; });
  return found == keys_.end() ? nullptr : &*found;
}

Status TrustedKeys::check(const Signature& signature, const Digest& entry_sha256) const {
  const Key* key = find(signature.key_sha256);
  if (key == nullptr) {
    return failure(Code::corrupt, "it is signed by {}, which is not trusted",
                   short_key_name(signature.key_sha256));
  }
  const Context context(EVP_MD_CTX_new());
  if (context == nullptr ||
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key->handle.get()) != 1) {
    return crypto_failure("EVP_DigestVerifyInit");
  }
  const std::string message = message_of(entry_sha256);
  const int result = EVP_DigestVerify(context.get(), signature.bytes.data(), signature.bytes.size(),
                                      bytes_of(message), message.size());
  ERR_clear_error();
  if (result != 1) return failure(Code::corrupt, "its signature is wrong");
  return {};
}

std::string short_key_name(const Digest& key_sha256) {
  return key_sha256.hex().substr(0, 16);
}

}  // namespace kiln
