// SPDX-License-Identifier: Apache-2.0
// kiln stats: lifetime counters of the cache, and what it holds.
#include "tools/command.h"
#include "tools/entry_output.h"
#include "tools/inspection.h"
#include "tools/json_output.h"
#include "tools/table.h"

namespace kiln {
namespace {

Json stats_json(const Counters& counters,
                const Store::Summary& summary,
                const std::string& moved_because) {
  Json json = {{"schema", kJsonSchema}};
  for (const Counter counter : kCounters) {
    const auto found = counters.find(counter);
    json[std::string(counter_name(counter))] = found == counters.end() ? 0 : found->second;
  }
  json["store"] = {{"path", summary.path},
                   {"exists", summary.exists},
                   {"moved_because", moved_because},
                   {"entries", summary.entries},
                   {"image_bytes", summary.image_bytes},
                   {"stored_bytes", summary.stored_bytes},
                   {"file_bytes", summary.file_bytes},
                   {"log_bytes", summary.log_bytes},
                   {"quarantine_bytes", summary.quarantine_bytes},
                   {"limit_bytes", summary.limit_bytes}};
  return json;
}

std::string stats_text(const Counters& counters,
                       const Store::Summary& summary,
                       const std::string& moved_because) {
  FactList facts;
  for (const Counter counter : kCounters) {
    const auto found = counters.find(counter);
    facts.add(std::string(counter_name(counter)),
              std::to_string(found == counters.end() ? 0 : found->second));
  }
  facts.add("store", summary.exists ? summary.path : summary.path + " (absent)");
  if (!moved_because.empty()) facts.add("moved because", moved_because);
  facts.add("entries", std::to_string(summary.entries));
  facts.add("images", fmt::format("{}, stored in {}", bytes_text(summary.image_bytes),
                                  bytes_text(summary.stored_bytes)));
  facts.add("size", size_text(summary));
  return facts.text();
}

Result<ExitCode> run(Invocation& invocation) {
  KILN_TRY_ASSIGN(const auto store, inspect_store(invocation));
  Counters counters;
  Store::Summary summary;
  const Result<StorePlace> place = store_place(invocation);
  const std::string moved_because = place.is_ok() ? place->moved_because : "";
  summary.limit_bytes = invocation.environment.cache_limit_bytes;
  if (store != nullptr) {
    KILN_TRY_ASSIGN(counters, store->counters());
    KILN_TRY_ASSIGN(summary, store->summary());
  }
  if (invocation.is_json) {
    KILN_TRY(write_json(invocation.console, stats_json(counters, summary, moved_because)));
    return ExitCode::done;
  }
  KILN_TRY(invocation.console.write_output(stats_text(counters, summary, moved_because)));
  return ExitCode::done;
}

}  // namespace

RunCommand cmd_stats(CLI::App& /*command*/) {
  return run;
}

}  // namespace kiln
