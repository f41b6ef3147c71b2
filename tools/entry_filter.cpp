// SPDX-License-Identifier: Apache-2.0
#include "tools/entry_filter.h"

#include "jit/target.h"
#include "tools/inspection.h"

namespace kiln {

void add_fact_options(CLI::App& command, EntryFilter& filter) {
  command.add_option("--template", filter.template_name, "only entries of this template")
      ->type_name("NAME");
  command.add_option("--target", filter.target, "only entries for this target, e.g. sm_90a")
      ->type_name("TARGET");
  command
      .add_option("--toolchain", filter.toolchain,
                  "only entries whose toolchain starts with this, e.g. nvrtc-12.4")
      ->type_name("PREFIX");
}

void add_filter_options(CLI::App& command, EntryFilter& filter) {
  add_fact_options(command, filter);
  command.add_option("--key", filter.key, "only entries whose key starts with these digits")
      ->type_name("PREFIX");
}

Result<EntryQuery> make_query(const EntryFilter& filter) {
  EntryQuery query{.template_name = filter.template_name, .toolchain_prefix = filter.toolchain};
  if (filter.target) {
    KILN_TRY_ASSIGN(const Target target, parse_target(*filter.target));
    query.target = target.text();
  }
  if (filter.key) {
    KILN_TRY_ASSIGN(query.key_prefix, parse_key_prefix(*filter.key));
  }
  return query;
}

}  // namespace kiln
