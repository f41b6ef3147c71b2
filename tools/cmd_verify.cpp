// SPDX-License-Identifier: Apache-2.0
// kiln verify: checks everything that the cache or a pack holds, and drops what is damaged if told
// to.
#include "tools/command.h"
#include "tools/inspection.h"
#include "tools/json_output.h"
#include "tools/table.h"

#include <memory>

namespace kiln {
namespace {

struct Options {
  std::optional<std::string> pack;
  bool is_repair = false;
};

// Damage that keeps a database from being opened.
Store::Verification unreadable(const Status& reason) {
  Store::Verification verification;
  verification.exists = true;
  verification.database_errors.push_back(reason.message());
  return verification;
}

Result<Store::Verification> look(const Result<std::unique_ptr<Store>>& store) {
  if (store.status().code() == Code::corrupt) return unreadable(store.status());
  KILN_TRY(store.status());
  return *store == nullptr ? Result(Store::Verification()) : (*store)->verify(false);
}

Result<Store::Verification> repair(const Invocation& invocation) {
  KILN_TRY_ASSIGN(const StorePlace place, store_place(invocation));
  KILN_TRY_ASSIGN(const auto store, Store::open(place.directory, StoreMode::read_write,
                                                invocation.environment.cache_limit_bytes));
  return store->verify(true);
}

Result<Store::Verification> verify_pack(const Invocation& invocation, const std::string& path) {
  KILN_TRY_ASSIGN(const PackTrust trust, pack_trust(invocation.environment));
  const auto pack = Pack::open(path, trust);
  if (pack.status().code() == Code::corrupt) return unreadable(pack.status());
  KILN_TRY(pack.status());
  return (*pack)->verify();
}

Result<Store::Verification> verify(const Invocation& invocation, const Options& options) {
  if (options.pack) {
    if (!options.is_repair) return verify_pack(invocation, *options.pack);
    return failure(Code::invalid_argument, "--repair is for the cache; a pack is never changed");
  }
  // A sound store is not opened for writing, and an absent one is not created.
  KILN_TRY_ASSIGN(auto seen, look(inspect_store(invocation)));
  return options.is_repair && !seen.is_sound() ? repair(invocation) : std::move(seen);
}

Json or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json verification_json(const Store::Verification& verification) {
  Json damage = Json::array();
  for (const Store::Damage& row : verification.damage) {
    damage.push_back({{"table", row.table},
                      {"row", row.row},
                      {"key", or_null(row.key)},
                      {"spec", or_null(row.spec)},
                      {"reason", row.reason},
                      {"dropped", row.is_dropped}});
  }
  return {{"schema", kJsonSchema},
          {"exists", verification.exists},
          {"sound", verification.is_sound()},
          {"entries", verification.entries},
          {"damaged_entries", verification.damaged_entries},
          {"damaged_rows", verification.damaged_rows},
          {"dropped_rows", verification.dropped_rows},
          {"quarantined", verification.is_quarantined},
          {"database_errors", verification.database_errors},
          {"damage", std::move(damage)}};
}

std::string summary_text(const Store::Verification& verification, const Options& options) {
  if (!verification.exists) return "absent: nothing to check\n";
  std::string text = fmt::format("{} {} checked: ", verification.entries,
                                 verification.entries == 1 ? "entry" : "entries");
  if (verification.is_sound()) return text + "no damage\n";
  text += fmt::format("{} damaged", verification.damaged_entries);
  const std::int64_t others = verification.damaged_rows - verification.damaged_entries;
  if (others > 0)
    text += fmt::format(", {} other {} damaged", others, others == 1 ? "row" : "rows");
  if (verification.dropped_rows > 0) text += fmt::format("; {} dropped", verification.dropped_rows);
  if (!verification.database_errors.empty()) text += "; the database is damaged";
  if (verification.is_quarantined) text += " and was quarantined, a new one begun";
  if (!options.is_repair && !options.pack) text += "; --repair removes what is damaged";
  return text + '\n';
}

std::string verification_text(const Store::Verification& verification, const Options& options) {
  using Align = Table::Align;
  std::string text;
  for (const std::string& line : verification.database_errors)
    text += "database: " + printable(line) + '\n';
  if (!verification.damage.empty()) {
    Table table({{"TABLE"}, {"ROW", Align::right}, {"KEY"}, {"REASON"}, {"SPEC"}});
    for (const Store::Damage& row : verification.damage) {
      table.add_row({std::string(row.table), row.row == 0 ? "-" : std::to_string(row.row),
                     row.key.empty() ? "-" : row.key.substr(0, 12), row.reason,
                     row.spec.empty() ? "-" : row.spec});
    }
    text += table.text();
  }
  const std::int64_t unlisted =
      verification.damaged_rows - static_cast<std::int64_t>(verification.damage.size());
  if (unlisted > 0) text += fmt::format("and {} more\n", unlisted);
  return text + summary_text(verification, options);
}

Result<ExitCode> run(Invocation& invocation, const Options& options) {
  KILN_TRY_ASSIGN(const Store::Verification verification, verify(invocation, options));
  if (invocation.is_json) {
    KILN_TRY(write_json(invocation.console, verification_json(verification)));
  } else {
    KILN_TRY(invocation.console.write_output(verification_text(verification, options)));
  }
  return verification.is_sound() ? ExitCode::done : ExitCode::failed;
}

}  // namespace

RunCommand cmd_verify(CLI::App& command) {
  const auto options = std::make_shared<Options>();
  command.add_option("pack", options->pack, "a pack to check in the place of the cache")
      ->type_name("PACK");
  command.add_flag("--repair", options->is_repair,
                   "drop damaged entries, quarantine a damaged database");
  return [options](Invocation& invocation) { return run(invocation, *options); };
}

}  // namespace kiln
