// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/synthetic_store.h"

#include "cache/connection.h"
#include "cache/entry_table.h"
#include "cache/store.h"

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace kiln::bench {
namespace {

// Compressed: the middles of the tenths of 6,600 variants of the built-in models, for 4 targets.
constexpr std::array<std::size_t, 10> kStoredBytes = {4900, 6100, 6700,  7200,  7900,
                                                      8600, 9300, 10200, 11400, 15000};
constexpr std::size_t kRatio = 4;  // of an image to what is stored of it
constexpr std::int64_t kBatch = 50000;
constexpr std::int64_t kFirstTime = 1700000000;
constexpr char kUse[] = "INSERT INTO usage (key, hits, last_used_at) VALUES (?1, ?2, ?3)";

struct Image {
  std::size_t bytes;
  std::string stored;
};

std::vector<Image> make_images(std::int64_t percent) {
  std::vector<Image> images;
  for (const std::size_t stored_bytes : kStoredBytes) {
    const std::size_t bytes = stored_bytes * kRatio * static_cast<std::size_t>(percent) / 100;
    images.push_back({bytes, check(compress_image(synthetic_image(bytes)))});
  }
  return images;
}

}  // namespace

void check(const Status& status) {
  if (status.is_ok()) return;
  fmt::print(stderr, "benchmark: {}\n", status.message());
  std::exit(1);
}

std::string synthetic_image(std::size_t bytes) {
  std::mt19937 random(1);
  std::string image(bytes, '\0');
  for (std::size_t i = 0; i < image.size(); ++i) {
    image[i] = static_cast<char>(i % 64 < 16 ? random() & 0xFFU : i / 256);
  }
  return image;
}

KeyFields real_fields() {
  const Catalog catalog = check(Catalog::open({}));
  const Variant variant = check(Variant::parse(catalog, kSpec));
  const Target target = default_target({9, 0});
  KeyFields fields = request_fields(variant, check(specialize(variant, target.capability)), target);
  fields.options = {"--std=c++17", "--gpu-architecture=sm_90a", "--no-cache"};
  fields.toolchain =
      "nvrtc-13.0+0123456789abcdef0123456789abcdef01234567+97345680+"
      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  return fields;
}

EntryFacts synthetic_facts(KeyFields fields, std::int64_t number, std::size_t image_bytes) {
  fields.options.push_back(fmt::format("--number={}", number));
  const Artifact artifact{
      .image = {},
      .target = default_target({9, 0}),
      .lowered_name = "_ZN4kiln" + std::string(200, 'x') + std::to_string(number),
      .layout = std::vector<KernelParameter>(20, {.offset_bytes = 100, .size_bytes = 8}),
      .resources = {.registers = 64},
      .toolchain = fields.toolchain,
      .compile_us = 250000,
      .log = "ptxas info    : 0 bytes gmem"};
  EntryFacts facts =
      make_facts(fields.key(), fields.request(), fields.template_name, std::string(kSpec),
                 fields.to_json(), artifact, kFirstTime + number);
  facts.image_bytes = static_cast<std::int64_t>(image_bytes);
  return facts;
}

SyntheticStore::SyntheticStore(const SyntheticOptions& options)
    : options_(options),
      directory_(fmt::format("{}/kiln-bench-{}-{}", options.parent, ::getpid(), options.entries)) {
  std::filesystem::create_directory(directory_);
  std::filesystem::permissions(directory_, std::filesystem::perms::owner_all);
  check(Store::open(directory_, StoreMode::read_write));
  const auto begin = std::chrono::steady_clock::now();
  fill();
  describe(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

SyntheticStore::SyntheticStore(std::string directory)
    : options_({.keep = true}), directory_(std::move(directory)) {
  const auto connection = check(Connection::open(database(), Connection::Access::read_only));
  Statement keys = check(connection->statement("SELECT key FROM entries"));
  while (check(keys.step()))
    keys.digest(0, keys_.emplace_back());
}

SyntheticStore::~SyntheticStore() {
  if (options_.keep) {
    fmt::print(stderr, "kept: {}\n", directory_);
  } else {
    std::filesystem::remove_all(directory_);
  }
}

std::string SyntheticStore::database() const {
  return fmt::format("{}/store-v{}.db", directory_, kStoreSchema);
}

void SyntheticStore::fill() {
  const auto connection = check(Connection::open(database(), Connection::Access::read_write));
  // Nobody else knows the file. What ends up in it does not depend on these.
  check(connection->execute(
      "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000"));
  const KeyFields fields = real_fields();
  const std::vector<Image> images = make_images(options_.image_percent);
  for (std::int64_t begin = 0; begin < options_.entries; begin += kBatch) {
    auto transaction = check(Transaction::begin(*connection));
    for (std::int64_t i = begin; i < std::min(begin + kBatch, options_.entries); ++i) {
      const Image& image = images[random_() % images.size()];
      const EntryFacts facts = synthetic_facts(fields, i, image.bytes);
      keys_.push_back(facts.key);
      image_bytes_ += std::ssize(image.stored);
      check(insert_entry(*connection, facts, entry_digest(facts, image.stored), image.stored));
      if (i % 2 == 0) continue;
      Statement use = check(connection->statement(kUse));
      const auto used_at =
          kFirstTime + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(i)) * 2;
      check(use.bind(1, facts.key).bind(2, std::int64_t{3}).bind(3, used_at).run());
    }
    check(transaction.commit());
  }
  check(connection->execute("PRAGMA journal_mode = WAL"));
}

void SyntheticStore::describe(double seconds) const {
  const auto file_bytes = static_cast<std::int64_t>(std::filesystem::file_size(database()));
  fmt::print(stderr,
             "{} entries filled in {:.1f} s: images compressed {} bytes each, file {} bytes each, "
             "which is 1.25 x the images + {}\n",
             options_.entries, seconds, image_bytes_ / options_.entries,
             file_bytes / options_.entries, (file_bytes - image_bytes_ * 5 / 4) / options_.entries);
}

}  // namespace kiln::bench
