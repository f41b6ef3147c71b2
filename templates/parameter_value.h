// SPDX-License-Identifier: Apache-2.0
#pragma once

// A parameter's value as text: what is allowed, its canonical form, and its C++ spelling. The same
// bytes in every locale.

#include "support/status.h"
#include "templates/manifest.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

// Decimal digits after an optional sign; nothing else, and no more than 64 bits.
std::optional<std::int64_t> parse_integer(std::string_view text);

// The parts between separators, empty ones too: a set's values lie between '+'.
std::vector<std::string_view> split(std::string_view text, char separator);

// invalid_argument: `parameter "hidden" is 6143; allowed: a multiple of 4 from 4 to 16384`.
Result<std::string> canonical_value(const Parameter& parameter, std::string_view given);

// "bf16, e4m3, e5m2 (joined by +)"
std::string allowed_text(const Parameter& parameter);

// A canonical value as a template argument: 6144, true, kiln::Recipe::aten,
// (kiln::Out::bf16 | kiln::Out::e4m3), 0x1.8p+0f.
std::string cpp_spelling(const Parameter& parameter, std::string_view canonical);

}  // namespace kiln
