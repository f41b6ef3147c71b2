// SPDX-License-Identifier: Apache-2.0
// kiln ls: the entries of the cache.
#include "support/text.h"
#include "templates/parameter_value.h"
#include "tools/command.h"
#include "tools/entry_filter.h"
#include "tools/entry_output.h"
#include "tools/inspection.h"

#include <algorithm>
#include <array>
#include <memory>

namespace kiln {
namespace {

struct Options {
  EntryFilter filter;
  std::optional<std::string> limit;
  std::string sort = "last_used_at";
};

struct Order {
  std::string_view name;  // the JSON member
  EntryOrder order;
};
constexpr std::array kOrders = {
    Order{"last_used_at", EntryOrder::last_used},
    Order{"created_at", EntryOrder::created},
    Order{"image_bytes", EntryOrder::image_bytes},
    Order{"compile_us", EntryOrder::compile_us},
    Order{"hits", EntryOrder::hits},
    Order{"registers", EntryOrder::registers},
    Order{"spec", EntryOrder::spec},
};

std::string order_names() {
  std::array<std::string_view, kOrders.size()> names;
  std::transform(kOrders.begin(), kOrders.end(), names.begin(),
                 [](const Order& order) { return order.name; });
  return joined(names, ", ");
}

Result<EntryQuery> make_query(const Options& options) {
  KILN_TRY_ASSIGN(EntryQuery query, make_query(options.filter));
  const auto* order = std::find_if(kOrders.begin(), kOrders.end(),
                                   [&](const Order& o) { return o.name == options.sort; });
  if (order == kOrders.end()) {
    return failure(Code::invalid_argument, "--sort is {}; allowed: {}", in_quotes(options.sort),
                   order_names());
  }
  query.order = order->order;
  if (options.limit) {
    query.limit = parse_integer(*options.limit);
    if (!query.limit || *query.limit < 1) {
      return failure(Code::invalid_argument, "--limit is {}; allowed: 1 or more",
                     in_quotes(*options.limit));
    }
  }
  return query;
}

Result<ExitCode> run(Invocation& invocation, const Options& options) {
  KILN_TRY_ASSIGN(const EntryQuery query, make_query(options));
  KILN_TRY_ASSIGN(const auto store, inspect_store(invocation));
  std::vector<EntryRow> rows;
  if (store != nullptr) {
    KILN_TRY_ASSIGN(rows, store->list(query));
  }
  if (invocation.is_json) {
    Json entries = Json::array();
    for (const EntryRow& row : rows)
      entries.push_back(entry_json(row));
    KILN_TRY(write_json(invocation.console, {{"schema", kJsonSchema}, {"entries", entries}}));
    return ExitCode::done;
  }
  KILN_TRY(invocation.console.write_output(entry_table(rows).text()));
  return ExitCode::done;
}

}  // namespace

RunCommand cmd_ls(CLI::App& command) {
  const auto options = std::make_shared<Options>();
  add_filter_options(command, options->filter);
  command
      .add_option("--sort", options->sort,
                  "order: " + order_names() + "; numbers and times: largest first")
      ->type_name("FIELD")
      ->capture_default_str();
  command.add_option("--limit", options->limit, "print at most so many entries")->type_name("N");
  return [options](Invocation& invocation) { return run(invocation, *options); };
}

}  // namespace kiln
