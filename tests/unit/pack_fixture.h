// SPDX-License-Identifier: Apache-2.0
#pragma once

// Packs of sample entries, and what is in them.

#include "cache/pack.h"
#include "cache/pack_writer.h"
#include "cache_fixture.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kiln::test {

// A pack of the keyed sample entries of these seeds.
std::string make_pack(const TemporaryDirectory& directory,
                      const std::string& name,
                      const std::vector<std::uint32_t>& seeds,
                      const SigningKey* signer = nullptr);

// Opened with nothing trusted but the files that are the caller's own.
Result<std::unique_ptr<Pack>> open_pack(const std::string& path);

// Whether the pack has the entry of that seed: then it is exactly that one.
bool has_sample(Pack& pack, std::uint32_t seed, LookUp by = LookUp::key);

}  // namespace kiln::test
