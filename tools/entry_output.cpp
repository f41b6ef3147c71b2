// SPDX-License-Identifier: Apache-2.0
#include "tools/entry_output.h"

#include "templates/spec.h"

namespace kiln {
namespace {

constexpr std::size_t kShortKeyDigits = 12;

}  // namespace

std::string short_key(const Digest& key) {
  return key.hex().substr(0, kShortKeyDigits);
}

Json entry_json(const EntryRow& row) {
  const EntryFacts& facts = row.facts;
  Json parameters = Json::object();
  if (const auto spec = parse_spec(facts.spec); spec.is_ok()) {
    for (const auto& [name, value] : spec->parameters)
      parameters[name] = value;
  }
  return {
      {"key", facts.key.hex()},
      {"template", facts.template_name},
      {"parameters", std::move(parameters)},
      {"spec", facts.spec},
      {"target", facts.target},
      {"image_bytes", facts.image_bytes},
      {"stored_bytes", row.stored_bytes},
      {"registers", facts.resources.registers},
      {"shared_bytes", facts.resources.shared_bytes},
      {"local_bytes", facts.resources.local_bytes},
      {"spill_bytes", facts.resources.spill_bytes()},
      {"compile_us", facts.compile_us},
      {"hits", row.hits},
      {"created_at", time_text(facts.created_at)},
      {"last_used_at", time_text(row.last_used_at)},
      {"pinned", row.is_pinned},
      {"toolchain", facts.toolchain},
      {"lowered_name", facts.lowered_name},
  };
}

Table entry_table(const std::vector<EntryRow>& rows) {
  using Align = Table::Align;
  Table table({{"SPEC"},
               {"TARGET"},
               {"REGISTERS", Align::right},
               {"SPILLS", Align::right},
               {"IMAGE", Align::right},
               {"COMPILE", Align::right},
               {"HITS", Align::right},
               {"LAST USED"},
               {"PINNED"},
               {"KEY"}});
  for (const EntryRow& row : rows) {
    const EntryFacts& facts = row.facts;
    table.add_row({facts.spec, facts.target, std::to_string(facts.resources.registers),
                   bytes_text(facts.resources.spill_bytes()), bytes_text(facts.image_bytes),
                   duration_text(facts.compile_us), std::to_string(row.hits),
                   time_text(row.last_used_at), row.is_pinned ? "yes" : "", short_key(facts.key)});
  }
  return table;
}

std::string size_text(const Store::Summary& summary) {
  return fmt::format("{} of {} (database {}, log {}, quarantined {})",
                     bytes_text(summary.file_bytes + summary.quarantine_bytes),
                     bytes_text(summary.limit_bytes),
                     bytes_text(summary.file_bytes - summary.log_bytes),
                     bytes_text(summary.log_bytes), bytes_text(summary.quarantine_bytes));
}

}  // namespace kiln
