// SPDX-License-Identifier: Apache-2.0
#pragma once

// A store of many made-up entries for benchmarks: the file that as many puts would leave, but
// filled in a fraction of their time. Facts are as long as real ones, images in the sizes that the
// variants of the built-in models have. Half of the entries have been used.

#include "cache/entry.h"
#include "jit/key.h"
#include "support/status.h"

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::bench {

constexpr std::string_view kSpec = "layernorm_modulate:hidden=6144";

// Ends the program: there is nothing to measure.
void check(const Status& status);

template <typename T>
T check(Result<T> result) {
  check(result.status());
  return std::move(result).value();
}

// A quarter of it is incompressible.
std::string synthetic_image(std::size_t bytes);
KeyFields real_fields();
// The facts of one of many entries, which differ in their options.
EntryFacts synthetic_facts(KeyFields fields, std::int64_t number, std::size_t image_bytes);

struct SyntheticOptions {
  std::string parent = {};  // where its directory is made
  std::int64_t entries = 0;
  std::int64_t image_percent = 100;  // of the real sizes
  bool keep = false;                 // else removed in the end
};

class SyntheticStore {
 public:
  explicit SyntheticStore(const SyntheticOptions& options);
  // One that was kept, and stays.
  explicit SyntheticStore(std::string directory);
  ~SyntheticStore();
  SyntheticStore(const SyntheticStore&) = delete;
  SyntheticStore& operator=(const SyntheticStore&) = delete;

  const std::string& directory() const { return directory_; }
  std::string database() const;
  std::int64_t entries() const { return std::ssize(keys_); }
  // One of them, at random, so that the pages of few are cached by SQLite.
  const Digest& some_key() { return keys_[random_() % keys_.size()]; }

 private:
  void fill();
  void describe(double seconds) const;

  SyntheticOptions options_;
  std::string directory_;
  std::vector<Digest> keys_;
  std::int64_t image_bytes_ = 0;
  std::mt19937_64 random_{1};
};

}  // namespace kiln::bench
