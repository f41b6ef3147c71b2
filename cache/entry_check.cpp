// SPDX-License-Identifier: Apache-2.0
#include "cache/entry_check.h"

#include "cache/entry_table.h"
#include "jit/key.h"
#include "support/text.h"

#include <utility>

namespace kiln {
namespace {

Status check_fact(std::string_view name, std::string_view fact, std::string_view expected) {
  if (fact == expected) return {};
  return failure(Code::corrupt, "{} is {}; the key fields say {}", name, in_quotes(fact),
                 in_quotes(expected));
}

}  // namespace

Status check_key(const EntryFacts& facts) {
  const Result<KeyFields> fields = KeyFields::from_json(facts.key_fields);
  // Of another key schema, whose keys this version cannot compute.
  if (fields.status().code() == Code::unsupported) return {};
  KILN_TRY(fields.status());
  KILN_TRY(check_fact("template_name", facts.template_name, fields->template_name));
  KILN_TRY(check_fact("target", facts.target, fields->target));
  KILN_TRY(check_fact("toolchain", facts.toolchain, fields->toolchain));
  KILN_TRY(check_fact("key", facts.key.hex(), fields->key().hex()));
  return check_fact("request", facts.request.hex(), fields->request().hex());
}

Status check_entry(Connection& connection,
                   std::int64_t id,
                   StoredEntry& entry,
                   std::string* image) {
  KILN_TRY(read_entry_facts(connection, id, entry.facts, entry.entry_sha256));
  // First, because it can say which of the facts is wrong.
  KILN_TRY(check_key(entry.facts));
  std::string uncompressed;
  KILN_TRY(read_entry_image(connection, id, entry.facts, entry.entry_sha256, uncompressed,
                            &entry.image));
  KILN_TRY_ASSIGN(Artifact artifact, make_artifact(entry.facts, std::move(uncompressed)));
  if (image != nullptr) *image = std::move(artifact.image);
  return {};
}

}  // namespace kiln
