// SPDX-License-Identifier: Apache-2.0
// bench_cache [--entries=N]... [--directory=DIR] [--image-percent=N] [--kiln=PROGRAM] [--keep]
//             [--store=DIR]... [Google Benchmark's options]
// What a disk hit consists of (key, read_row, checksum, decompress; find is all but the key), and
// how it, the opening of a store, a listing and the choice of what to evict grow with the number of
// entries (1000 if left out). The synthetic stores are made in DIR (else the temporary directory),
// at about 12 KB an entry with images of real size, and removed unless they are to be kept, for
// --store. With PROGRAM, a path to kiln, also times `kiln ls`. A program for people, not a test.
#include "cache/database.h"
#include "cache/entry_table.h"
#include "cache/eviction.h"
#include "cache/store.h"
#include "jit/key.h"
#include "tests/bench/synthetic_store.h"

#include <fmt/core.h>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {
namespace {

constexpr std::size_t kImageBytes = 32000;  // as that of an average variant
constexpr std::int64_t kListed = 100;
constexpr char kIdByKey[] = "SELECT id FROM entries WHERE key = ?1";
constexpr char kImage[] = "SELECT image FROM images WHERE entry = ?1";

using bench::check;
using bench::kSpec;
using bench::real_fields;
using bench::synthetic_facts;
using bench::synthetic_image;
using bench::SyntheticStore;

// Times single runs as well, for the percentiles that a mean does not tell.
class Samples {
 public:
  template <typename Body>
  void time(const Body& body) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    const auto end = std::chrono::steady_clock::now();
    us_.push_back(std::chrono::duration<double, std::micro>(end - begin).count());
  }
  void report(benchmark::State& state) {
    std::sort(us_.begin(), us_.end());
    state.counters["p50_us"] = us_[us_.size() / 2];
    state.counters["p99_us"] = us_[us_.size() * 99 / 100];
  }

 private:
  std::vector<double> us_;
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
  const EntryFacts facts = synthetic_facts(real_fields(), 0, kImageBytes);
  const std::string image = check(compress_image(synthetic_image(kImageBytes)));
  for (auto _ : state)
    benchmark::DoNotOptimize(entry_digest(facts, image));
  state.counters["image_bytes"] = static_cast<double>(image.size());
}

void decompress(benchmark::State& state) {
  const std::string image = check(compress_image(synthetic_image(kImageBytes)));
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
  Samples samples;
  for (auto _ : state) {
    samples.time([&] {
      if (!check(store->find(synthetic.some_key()))) check(failure(Code::internal, "a miss"));
    });
  }
  samples.report(state);
}

void open(benchmark::State& state, SyntheticStore& synthetic) {
  Samples samples;
  for (auto _ : state) {
    samples.time([&] {
      benchmark::DoNotOptimize(check(Store::open(synthetic.directory(), StoreMode::read_write)));
    });
  }
  samples.report(state);
}

void open_and_find(benchmark::State& state, SyntheticStore& synthetic) {
  for (auto _ : state) {
    // To look, so that no hit is written when the store is closed.
    const auto store = check(Store::open(synthetic.directory(), StoreMode::inspect));
    if (!check(store->find(synthetic.some_key()))) check(failure(Code::internal, "a miss"));
  }
}

void open_and_list(benchmark::State& state, SyntheticStore& synthetic) {
  for (auto _ : state) {
    const auto store = check(Store::open(synthetic.directory(), StoreMode::inspect));
    if (std::ssize(check(store->list({.limit = kListed}))) > kListed) std::abort();
  }
}

// What a put at the limit adds: the choice of what is to go, during which the store waits.
void survey(benchmark::State& state, SyntheticStore& synthetic) {
  Database database(synthetic.directory(), StoreMode::read_write);
  for (auto _ : state) {
    Eviction eviction(std::int64_t{1} << 50, Digest());
    check(database.run(Database::Intent::read, [&](Connection& connection) {
      return eviction.survey(connection, 0, std::time(nullptr));
    }));
  }
}

void verify(benchmark::State& state, SyntheticStore& synthetic) {
  const auto store = check(Store::open(synthetic.directory(), StoreMode::inspect));
  for (auto _ : state)
    if (!check(store->verify(false)).is_sound()) check(failure(Code::corrupt, "not sound"));
}

void list_process(benchmark::State& state, SyntheticStore& synthetic, const std::string& kiln) {
  const std::string command = fmt::format("'{}' ls --limit {} --cache-dir '{}' >/dev/null", kiln,
                                          kListed, synthetic.directory());
  for (auto _ : state)
    if (std::system(command.c_str()) != 0) check(failure(Code::internal, "{} failed", command));
}

struct Options {
  std::vector<std::int64_t> sizes;
  std::vector<std::string> kept;  // directories
  std::string kiln;
  bench::SyntheticOptions stores{.parent = std::filesystem::temp_directory_path()};
};

void measure(const Options& options) {
  const auto unit = benchmark::kMicrosecond;
  benchmark::RegisterBenchmark("key", key)->Unit(unit);
  benchmark::RegisterBenchmark("checksum", checksum)->Unit(unit);
  benchmark::RegisterBenchmark("decompress", decompress)->Unit(unit);
  std::vector<std::unique_ptr<SyntheticStore>> stores;
  for (const std::int64_t entries : options.sizes) {
    bench::SyntheticOptions store_options = options.stores;
    store_options.entries = entries;
    stores.push_back(std::make_unique<SyntheticStore>(store_options));
  }
  for (const std::string& directory : options.kept)
    stores.push_back(std::make_unique<SyntheticStore>(directory));
  for (const auto& owner : stores) {
    SyntheticStore* store = owner.get();
    const std::int64_t entries = store->entries();
    const auto add = [&](const char* name, void (*body)(benchmark::State&, SyntheticStore&)) {
      return benchmark::RegisterBenchmark(fmt::format("{}/{}", name, entries).c_str(),
                                          [store, body](benchmark::State& s) { body(s, *store); });
    };
    add("read_row", read_row)->Unit(unit);
    add("find", find)->Unit(unit);
    add("open", open)->Unit(unit);
    add("open_and_find", open_and_find)->Unit(unit);
    add("open_and_list", open_and_list)->Unit(benchmark::kMillisecond);
    add("survey", survey)->Unit(benchmark::kMillisecond);
    if (!options.kiln.empty()) {
      benchmark::RegisterBenchmark(
          fmt::format("kiln_ls/{}", entries).c_str(),
          [store, &options](benchmark::State& s) { list_process(s, *store, options.kiln); })
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
    }
    add("verify", verify)->Unit(benchmark::kMillisecond)->Iterations(1);
  }
  benchmark::RunSpecifiedBenchmarks();
}

// false if the argument is none.
bool read_argument(std::string_view argument, Options& options) {
  const auto value_of = [&](std::string_view name) -> std::optional<std::string> {
    if (!argument.starts_with(name)) return std::nullopt;
    return std::string(argument.substr(name.size()));
  };
  if (const auto entries = value_of("--entries=")) {
    options.sizes.push_back(std::atoll(entries->c_str()));
    return options.sizes.back() > 0;
  }
  if (const auto percent = value_of("--image-percent=")) {
    options.stores.image_percent = std::atoll(percent->c_str());
    return options.stores.image_percent > 0;
  }
  if (const auto directory = value_of("--directory=")) {
    options.stores.parent = *directory;
  } else if (const auto kiln = value_of("--kiln=")) {
    options.kiln = *kiln;
  } else if (const auto store = value_of("--store=")) {
    options.kept.push_back(*store);
  } else if (argument == "--keep") {
    options.stores.keep = true;
  } else {
    return false;
  }
  return true;
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  kiln::Options options;
  for (int i = 1; i < argc; ++i) {
    if (kiln::read_argument(argv[i], options)) continue;
    fmt::print(stderr,
               "usage: bench_cache [--entries=N]... [--directory=DIR] [--image-percent=N] "
               "[--kiln=PROGRAM] [--keep] [--store=DIR]... [--benchmark_…]\n");
    return 2;
  }
  if (options.sizes.empty() && options.kept.empty()) options.sizes.push_back(1000);
  kiln::measure(options);
  return 0;
}
