// SPDX-License-Identifier: Apache-2.0
// kiln prune: removes entries from the cache.
#include "support/text.h"
#include "templates/parameter_value.h"
#include "tools/command.h"
#include "tools/entry_filter.h"
#include "tools/entry_output.h"
#include "tools/inspection.h"

#include <limits>
#include <memory>
#include <utility>

namespace kiln {
namespace {

struct Options {
  EntryFilter filter;
  std::optional<std::string> older_than, to;
  bool all = false;
  bool include_pinned = false;
  bool is_dry_run = false;
};

// "30d", "12h", "90m" and "10s", in seconds.
std::optional<std::int64_t> parse_age(std::string_view text) {
  constexpr std::pair<char, std::int64_t> kUnits[] = {
      {'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
  for (const auto& [letter, seconds] : kUnits) {
    if (!text.ends_with(letter)) continue;
    const auto count = parse_integer(text.substr(0, text.size() - 1));
    if (!count || *count < 0 || *count > std::numeric_limits<std::int64_t>::max() / seconds) {
      return std::nullopt;
    }
    return *count * seconds;
  }
  return std::nullopt;
}

Result<PruneQuery> make_prune_query(const Options& options) {
  KILN_TRY_ASSIGN(EntryQuery chosen, make_query(options.filter));
  PruneQuery query{.template_name = std::move(chosen.template_name),
                   .target = std::move(chosen.target),
                   .toolchain_prefix = std::move(chosen.toolchain_prefix),
                   .all = options.all,
                   .include_pinned = options.include_pinned};
  if (options.older_than) {
    query.unused_for_s = parse_age(*options.older_than);
    if (!query.unused_for_s) {
      return failure(Code::invalid_argument,
                     "--older-than is {}; allowed: a number and d, h, m or s, as in 30d",
                     in_quotes(*options.older_than));
    }
  }
  if (options.to) {
    query.to_bytes = parse_bytes(*options.to);
    if (!query.to_bytes) {
      return failure(Code::invalid_argument,
                     "--to is {}; allowed: a size in bytes or with K, M, G or T, as in 500M",
                     in_quotes(*options.to));
    }
  }
  const bool is_narrowed = query.unused_for_s || query.target || query.toolchain_prefix ||
                           query.template_name || query.to_bytes;
  if (query.all && is_narrowed) {
    return failure(Code::invalid_argument, "--all leaves nothing for other criteria to choose");
  }
  return query;
}

Result<Store::Pruned> prune(Invocation& invocation, const PruneQuery& query, bool is_dry_run) {
  KILN_TRY_ASSIGN(auto store, inspect_store(invocation));
  if (store == nullptr) return Store::Pruned{};
  if (!is_dry_run) {
    KILN_TRY_ASSIGN(store, change_store(invocation));
    if (store == nullptr) return Store::Pruned{};
  }
  return store->prune(query, is_dry_run);
}

Json report_json(const Store::Pruned& pruned, bool is_dry_run) {
  Json entries = Json::array();
  for (const EntryRow& row : pruned.entries)
    entries.push_back(entry_json(row));
  return {{"schema", kJsonSchema},
          {"dry_run", is_dry_run},
          {"pruned", pruned.entries.size()},
          {"freed_bytes", pruned.freed_bytes},
          {"entries", std::move(entries)}};
}

std::string report_text(const Store::Pruned& pruned, bool is_dry_run) {
  const std::string table =
      pruned.entries.empty() ? std::string() : entry_table(pruned.entries).text() + '\n';
  return fmt::format("{}{} entries {}pruned, {}{} freed\n", table, pruned.entries.size(),
                     is_dry_run ? "would be " : "", is_dry_run ? "about " : "",
                     bytes_text(pruned.freed_bytes));
}

Result<ExitCode> run(Invocation& invocation, const Options& options) {
  KILN_TRY_ASSIGN(const PruneQuery query, make_prune_query(options));
  KILN_TRY_ASSIGN(const Store::Pruned pruned, prune(invocation, query, options.is_dry_run));
  KILN_TRY(invocation.is_json
               ? write_json(invocation.console, report_json(pruned, options.is_dry_run))
               : invocation.console.write_output(report_text(pruned, options.is_dry_run)));
  return ExitCode::done;
}

}  // namespace

RunCommand cmd_prune(CLI::App& command) {
  const auto options = std::make_shared<Options>();
  command
      .add_option("--older-than", options->older_than,
                  "only entries not used for so long, as in 30d, 12h or 90m")
      ->type_name("AGE");
  add_fact_options(command, options->filter);
  command
      .add_option("--to", options->to,
                  "the least recently used of them, until the cache takes no more than this")
      ->type_name("SIZE");
  command.add_flag("--all", options->all, "all entries, and a quarantined database");
  command.add_flag("--include-pinned", options->include_pinned, "also pinned entries");
  command.add_flag("--dry-run", options->is_dry_run, "only print what would be pruned");
  return [options](Invocation& invocation) { return run(invocation, *options); };
}

}  // namespace kiln
