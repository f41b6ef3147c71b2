// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the tests of the cache layer share: sample entries, raw access to a database, and code that
// runs in a child process.

#include "cache/store.h"
#include "support/digest.h"
#include "tests/support/temporary_directory.h"

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::test {

// Runs `body` in a forked child and returns its exit status: 0 if no assertion in it failed and
// 128 + n if signal n ended it.
int in_child(const std::function<void()>& body);

// Like a cubin: half of it compresses well. The same for the same seed.
std::string sample_image(std::uint32_t seed, std::size_t bytes = 20000);
// Every fact set, and different from those of another seed.
EntryFacts sample_facts(std::uint32_t seed, std::size_t image_bytes = 20000);
// The same, but with the key and the request digest of its key fields.
EntryFacts keyed_facts(std::uint32_t seed, std::size_t image_bytes = 20000);
Digest digest_of(std::string_view text);

std::unique_ptr<Store> open_store(const std::string& directory,
                                  StoreMode mode = StoreMode::read_write);
// Puts the sample entry of that seed.
void put_sample(Store& store, std::uint32_t seed);
// Whether the sample entry of that seed is found, and is what was put.
bool finds_sample(Store& store, std::uint32_t seed, bool* recovered = nullptr);

// A database beside the library's back.
class RawDatabase {
 public:
  explicit RawDatabase(const std::string& path);
  ~RawDatabase();
  RawDatabase(const RawDatabase&) = delete;
  RawDatabase& operator=(const RawDatabase&) = delete;

  void execute(const std::string& sql);
  std::int64_t integer(const std::string& sql);
  std::vector<std::string> column(const std::string& sql);
  void set_image(const Digest& key, const std::string& image);
  std::string image(const Digest& key);
  void set_key_fields(const Digest& key, std::string_view text);  // compressed, as they are stored

 private:
  void set_blob(const std::string& sql, const std::string& blob);

  sqlite3* database_ = nullptr;
};

std::string database_path(const TemporaryDirectory& directory);
std::string read_text(const std::string& path);
// Overwrites the file in place: its inode stays.
void write_text(const std::string& path, std::string_view text);
bool exists(const std::string& path);

// Collects log lines while it lives.
class LogCapture {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;
  int warnings() const;

 private:
  std::shared_ptr<std::vector<std::string>> warnings_;
};

}  // namespace kiln::test
