// SPDX-License-Identifier: Apache-2.0
#include "cache/pack_import.h"

#include "cache/entry_query.h"

namespace kiln {
namespace {

void note_refusal(const Pack::Entry& entry, PackImport& result) {
  ++result.refused;
  if (result.refusals.size() == PackImport::kMostRefusals) return;
  const EntryFacts& facts = entry.stored.facts;
  result.refusals.push_back({.key = facts.key == Digest() ? "" : facts.key.hex(),
                             .spec = facts.spec.substr(0, 1024),
                             .reason = entry.refusal.message()});
}

}  // namespace

PackImport import_pack(Pack& pack, Store& store, const EntryQuery& query) {
  PackImport result;
  result.status = pack.visit([&](const Pack::Entry& entry) -> Status {
    if (!entry.refusal.is_ok()) {
      note_refusal(entry, result);
      return {};
    }
    const EntryFacts& facts = entry.stored.facts;
    if (!matches(query, facts)) return {};
    KILN_TRY_ASSIGN(const auto present, store.read(facts.key));
    if (present) {
      ++result.present;
      return {};
    }
    KILN_TRY(store.put(facts, entry.image));
    ++result.imported;
    return {};
  });
  return result;
}

}  // namespace kiln
