// SPDX-License-Identifier: Apache-2.0
#pragma once

// The options by which several commands choose entries.

#include "cache/store.h"
#include "support/status.h"

#include <CLI/App.hpp>

#include <optional>
#include <string>

namespace kiln {

struct EntryFilter {
  std::optional<std::string> template_name, target, key, toolchain;
};

// Adds --template, --target and --toolchain; `filter` is borrowed.
void add_fact_options(CLI::App& command, EntryFilter& filter);
// These and --key.
void add_filter_options(CLI::App& command, EntryFilter& filter);

// invalid_argument for a target or key prefix that is none.
Result<EntryQuery> make_query(const EntryFilter& filter);

}  // namespace kiln
