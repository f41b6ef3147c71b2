// SPDX-License-Identifier: Apache-2.0
// kiln pin and kiln unpin: which entries must stay.
#include "support/text.h"
#include "tools/command.h"
#include "tools/entry_output.h"
#include "tools/inspection.h"

#include <memory>

namespace kiln {
namespace {

using Keys = std::vector<std::string>;

// The one entry that each prefix means.
Result<std::vector<EntryRow>> find_entries(Store* store, const Keys& prefixes) {
  std::vector<EntryRow> found;
  for (const std::string& text : prefixes) {
    KILN_TRY_ASSIGN(const std::string prefix, parse_key_prefix(text));
    std::vector<EntryRow> rows;
    if (store != nullptr) {
      KILN_TRY_ASSIGN(rows, store->list({.key_prefix = prefix}));
    }
    if (rows.empty()) {
      return failure(Code::not_found, "the cache has no entry for {}", in_quotes(text));
    }
    if (rows.size() > 1) {
      return failure(Code::invalid_argument, "{} means {} entries; give more of a key",
                     in_quotes(text), rows.size());
    }
    found.push_back(std::move(rows.front()));
  }
  return found;
}

Result<ExitCode> run(Invocation& invocation, const Keys& prefixes, bool is_pinned) {
  KILN_TRY_ASSIGN(auto store, inspect_store(invocation));
  KILN_TRY_ASSIGN(std::vector<EntryRow> rows, find_entries(store.get(), prefixes));
  std::vector<Digest> keys;
  for (EntryRow& row : rows) {
    keys.push_back(row.facts.key);
    row.is_pinned = is_pinned;
  }
  KILN_TRY_ASSIGN(store, change_store(invocation));
  std::int64_t changed = 0;
  if (store != nullptr) {
    KILN_TRY_ASSIGN(changed, store->set_pinned(keys, is_pinned));
  }
  if (changed != std::ssize(keys)) {
    return failure(Code::not_found, "{} of {} entries have left the cache meanwhile",
                   std::ssize(keys) - changed, keys.size());
  }
  if (!invocation.is_json) {
    KILN_TRY(invocation.console.write_output(entry_table(rows).text()));
    return ExitCode::done;
  }
  Json entries = Json::array();
  for (const EntryRow& row : rows)
    entries.push_back(entry_json(row));
  KILN_TRY(write_json(invocation.console, {{"schema", kJsonSchema}, {"entries", entries}}));
  return ExitCode::done;
}

RunCommand define(CLI::App& command, bool is_pinned) {
  const auto keys = std::make_shared<Keys>();
  command.add_option("key", *keys, "the start of a key")->type_name("KEY")->required();
  return [keys, is_pinned](Invocation& invocation) { return run(invocation, *keys, is_pinned); };
}

}  // namespace

RunCommand cmd_pin(CLI::App& command) {
  return define(command, true);
}

RunCommand cmd_unpin(CLI::App& command) {
  return define(command, false);
}

}  // namespace kiln
