// SPDX-License-Identifier: Apache-2.0
#include "pack_fixture.h"

#include <doctest/doctest.h>

namespace kiln::test {

std::string make_pack(const TemporaryDirectory& directory,
                      const std::string& name,
                      const std::vector<std::uint32_t>& seeds,
                      const SigningKey* signer) {
  const TemporaryDirectory store_directory;
  const auto store = open_store(store_directory.path());
  std::vector<Digest> keys;
  for (const std::uint32_t seed : seeds) {
    const EntryFacts facts = keyed_facts(seed);
    REQUIRE(store->put(facts, sample_image(seed)).is_ok());
    keys.push_back(facts.key);
  }
  const auto written = write_pack(*store, {.directory = directory.path(),
                                           .name = name,
                                           .keys = keys,
                                           .signer = signer,
                                           .may_replace = true});
  INFO(written.status().message());
  REQUIRE(written.is_ok());
  CHECK(written->entries == static_cast<std::int64_t>(seeds.size()));
  return written->path;
}

Result<std::unique_ptr<Pack>> open_pack(const std::string& path) {
  static const PackTrust trust;
  return Pack::open(path, trust);
}

bool has_sample(Pack& pack, std::uint32_t seed, LookUp by) {
  const EntryFacts facts = keyed_facts(seed);
  std::vector<Status> refusals;
  const auto found = pack.find(by, by == LookUp::key ? facts.key : facts.request, refusals);
  if (!found.is_ok() || !found->has_value()) return false;
  CHECK((*found)->facts == facts);
  CHECK((*found)->image == sample_image(seed));
  return true;
}

}  // namespace kiln::test
