// SPDX-License-Identifier: Apache-2.0
#pragma once

// The texts that one template is compiled from: its own file and every file that it includes,
// directly or not. Nothing outside a SourceSet ever reaches the compiler.

#include "support/digest.h"
#include "support/status.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

struct SourceText {
  std::string name;  // as an #include directive spells it
  std::string text;
};

struct SourceSet {
  SourceText main;
  std::vector<SourceText> includes;  // sorted by name, each once
};

// Finds the text of an included file by the name in the directive.
using IncludeResolver = std::function<std::optional<std::string>(std::string_view name)>;

// Follows `#include "…"` from `main`, in comments and dead branches too: what is collected in
// excess only makes a key more careful.
// not_found names the file and who includes it; invalid_argument for `#include <…>`: templates
// are header-free.
Result<SourceSet> collect_sources(SourceText main, const IncludeResolver& resolve);

}  // namespace kiln
