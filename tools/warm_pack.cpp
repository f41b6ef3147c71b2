// SPDX-License-Identifier: Apache-2.0
#include "tools/warm_pack.h"

#include "cache/pack_path.h"
#include "cache/pack_writer.h"
#include "support/files.h"
#include "support/log.h"
#include "tools/inspection.h"

#include <utility>
#include <vector>

namespace kiln {
namespace {

std::vector<Digest> stored_keys(const WarmReport& report) {
  std::vector<Digest> keys;
  for (const WarmOutcome& outcome : report.outcomes) {
    if (!outcome.acquired || !outcome.acquired->is_ok()) continue;
    const Acquired& acquired = **outcome.acquired;
    if (acquired.is_stored) keys.push_back(acquired.kernel->key);
  }
  return keys;
}

// The name of a pack says what is in it: one that has it already is the same.
Result<std::string> publish(const Invocation& invocation,
                            Store& store,
                            std::string directory,
                            std::vector<Digest> keys) {
  std::optional<SigningKey> signer;
  if (const auto& key = invocation.environment.sign_key) {
    KILN_TRY_ASSIGN(signer, SigningKey::read(*key));
  }
  KILN_TRY(make_private_directories(directory));
  KILN_TRY_ASSIGN(WrittenPack written, write_pack(store, {.directory = std::move(directory),
                                                          .keys = std::move(keys),
                                                          .signer = signer ? &*signer : nullptr,
                                                          .may_replace = true}));
  return std::move(written.path);
}

}  // namespace

std::optional<std::string> publish_warmed(const Invocation& invocation,
                                          Engine& engine,
                                          const WarmReport& report) {
  const auto directory = cache_directory(invocation);
  const auto place = store_place(invocation);
  std::vector<Digest> keys = stored_keys(report);
  if (!directory.is_ok() || !place.is_ok() || place->moved_because.empty() || keys.empty() ||
      engine.store() == nullptr) {
    return std::nullopt;
  }
  auto path =
      publish(invocation, *engine.store(), pack_directory(directory->path), std::move(keys));
  if (path.is_ok()) return *std::move(path);
  log(LogLevel::warning, "no pack is published for other nodes: {}", path.status().message());
  return std::nullopt;
}

}  // namespace kiln
