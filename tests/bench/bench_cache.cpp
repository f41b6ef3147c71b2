// SPDX-License-Identifier: Apache-2.0
// bench_cache [--entries=N]... [--directory=DIR] [Google Benchmark's options]
// What a disk hit consists of, and how it and the opening of a store grow with the number of
// entries (1000 if left out). The synthetic stores are made in DIR (else the temporary directory),
// at about 10 KiB an entry, and removed. A program for people, not a test.
#include "cache/database.h"
#include "cache/entry_table.h"
#include "cache/store.h"
#include "jit/key.h"

#include <fmt/core.h>

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {
namespace {

constexpr std::size_t kImageBytes = 20000;  // as a norm kernel's; a quarter of it is incompressible
constexpr std::int64_t kBatch = 10000;
constexpr std::string_view kSpec = "layernorm_modulate:hidden=6144";
constexpr char kIdByKey[] = "SELECT id FROM entries WHERE key = ?1";
constexpr char kImage[] = "SELECT image FROM images WHERE entry = ?1";

// Ends the program: there is nothing to measure.
void check(const Status& status) {
  if (status.is_ok()) return;
  fmt::print(stderr, "bench_cache: {}\n", status.message());
  std::exit(1);
}

template <typename T>
T check(Result<T> result) {
  check(result.status());
  return std::move(result).value();
}

std::string synthetic_image() {
  std::mt19937 random(1);
  std::string image(kImageBytes, '\0');
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

// The facts of one of many entries, which differ in their options.
EntryFacts synthetic_facts(KeyFields fields, std::int64_t number) {
  fields.options.push_back(fmt::format("--number={}", number));
  const Artifact artifact{.image = std::string(kImageBytes, 'x'),
                          .target = default_target({9, 0}),
                          .lowered_name = fields.name_expression,
                          .layout = {{0, 8}, {8, 8}, {16, 4}},
                          .resources = {.registers = 64},
                          .toolchain = fields.toolchain,
                          .compile_us = 250000,
                          .log = ""};
  return make_facts(fields.key(), fields.request(), fields.template_name, std::string(kSpec),
                    fields.to_json(), artifact, 1700000000 + number);
}

class SyntheticStore {
 public:
  SyntheticStore(const std::string& parent, std::int64_t entries)
      : directory_(fmt::format("{}/kiln-bench-{}-{}", parent, ::getpid(), entries)) {
    std::filesystem::create_directory(directory_);
    std::filesystem::permissions(directory_, std::filesystem::perms::owner_all);
    Database database(directory_, StoreMode::read_write);
    const KeyFields fields = real_fields();
    const std::string image = check(compress_image(synthetic_image()));
    for (std::int64_t begin = 0; begin < entries; begin += kBatch) {
      check(database.transact([&](Connection& connection) -> Status {
        for (std::int64_t i = begin; i < std::min(begin + kBatch, entries); ++i) {
          const EntryFacts facts = synthetic_facts(fields, i);
          keys_.push_back(facts.key);
          KILN_TRY(insert_entry(connection, facts, entry_digest(facts, image), image));
        }
        return {};
      }));
    }
  }
  ~SyntheticStore() { std::filesystem::remove_all(directory_); }
  SyntheticStore(const SyntheticStore&) = delete;
  SyntheticStore& operator=(const SyntheticStore&) = delete;

  const std::string& directory() const { return directory_; }
  // One of them, at random, so that the pages of few are cached by SQLite.
  const Digest& some_key() { return keys_[random_() % keys_.size()]; }

 private:
  std::string directory_;
  std::vector<Digest> keys_;
  std::mt19937_64 random_{1};
};

void key(benchmark::State& state) {
  const Catalog catalog = check(Catalog::open({}));
  const Variant variant = check(Variant::parse(catalog, kSpec));
  const Target target = default_target({9, 0});
  for (auto _ : state) {
    KeyFields fields =
        request_fields(variant, check(specialize(variant, target.capability)), target);
    fields.toolchain = "nvrtc-13.0";
    benchmark::DoNotOptimize(fields.key());
  }
}

void checksum(benchmark::State& state) {
  const EntryFacts facts = synthetic_facts(real_fields(), 0);
  const std::string image = check(compress_image(synthetic_image()));
  for (auto _ : state)
    benchmark::DoNotOptimize(entry_digest(facts, image));
  state.counters["image_bytes"] = static_cast<double>(image.size());
}

void decompress(benchmark::State& state) {
  const std::string image = check(compress_image(synthetic_image()));
  for (auto _ : state)
    benchmark::DoNotOptimize(check(decompress_image(image, kImageBytes)));
}

void read_row(benchmark::State& state, SyntheticStore& store) {
  Database database(store.directory(), StoreMode::read_write);
  for (auto _ : state) {
    check(database.run(Database::Intent::read, [&](Connection& connection) -> Status {
      KILN_TRY_ASSIGN(Statement id, connection.statement(kIdByKey));
      KILN_TRY_ASSIGN(const bool has_entry, id.bind(1, store.some_key()).step());
      if (!has_entry) return failure(Code::internal, "an entry is missing");
      EntryFacts facts;
      Digest digest;
      KILN_TRY(read_entry_facts(connection, id.integer(0), facts, digest));
      KILN_TRY_ASSIGN(Statement image, connection.statement(kImage));
      KILN_TRY(image.bind(1, id.integer(0)).step().status());
      benchmark::DoNotOptimize(image.bytes(0).data());
      return {};
    }));
  }
}

void find(benchmark::State& state, SyntheticStore& synthetic) {
  const auto store = check(Store::open(synthetic.directory(), StoreMode::read_write));
  for (auto _ : state) {
    if (!check(store->find(synthetic.some_key()))) check(failure(Code::internal, "a miss"));
  }
}

void open(benchmark::State& state, SyntheticStore& synthetic) {
  for (auto _ : state)
    benchmark::DoNotOptimize(check(Store::open(synthetic.directory(), StoreMode::read_write)));
}

void open_and_find(benchmark::State& state, SyntheticStore& synthetic) {
  for (auto _ : state) {
    // To look, so that no hit is written when the store is closed.
    const auto store = check(Store::open(synthetic.directory(), StoreMode::inspect));
    if (!check(store->find(synthetic.some_key()))) check(failure(Code::internal, "a miss"));
  }
}

void verify(benchmark::State& state, SyntheticStore& synthetic) {
  const auto store = check(Store::open(synthetic.directory(), StoreMode::inspect));
  for (auto _ : state)
    if (!check(store->verify(false)).is_sound()) check(failure(Code::corrupt, "not sound"));
}

void measure(const std::string& directory, const std::vector<std::int64_t>& sizes) {
  const auto unit = benchmark::kMicrosecond;
  benchmark::RegisterBenchmark("key", key)->Unit(unit);
  benchmark::RegisterBenchmark("checksum", checksum)->Unit(unit);
  benchmark::RegisterBenchmark("decompress", decompress)->Unit(unit);
  std::vector<std::unique_ptr<SyntheticStore>> stores;
  for (const std::int64_t entries : sizes) {
    SyntheticStore* store =
        stores.emplace_back(std::make_unique<SyntheticStore>(directory, entries)).get();
    const auto add = [&](const char* name, void (*body)(benchmark::State&, SyntheticStore&)) {
      return benchmark::RegisterBenchmark(fmt::format("{}/{}", name, entries).c_str(),
                                          [store, body](benchmark::State& s) { body(s, *store); });
    };
    add("read_row", read_row)->Unit(unit);
    add("find", find)->Unit(unit);
    add("open", open)->Unit(unit);
    add("open_and_find", open_and_find)->Unit(unit);
    add("verify", verify)->Unit(benchmark::kMillisecond)->Iterations(1);
  }
  benchmark::RunSpecifiedBenchmarks();
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) {
  constexpr std::string_view kEntries = "--entries=";
  constexpr std::string_view kDirectory = "--directory=";
  benchmark::Initialize(&argc, argv);
  std::vector<std::int64_t> sizes;
  std::string directory = std::filesystem::temp_directory_path();
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with(kEntries) && std::atoll(&argument[kEntries.size()]) > 0) {
      sizes.push_back(std::atoll(&argument[kEntries.size()]));
    } else if (argument.starts_with(kDirectory)) {
      directory = argument.substr(kDirectory.size());
    } else {
      fmt::print(stderr, "usage: bench_cache [--entries=N]... [--directory=DIR] [--benchmark_…]\n");
      return 2;
    }
  }
  if (sizes.empty()) sizes.push_back(1000);
  kiln::measure(directory, sizes);
  return 0;
}
