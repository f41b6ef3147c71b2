// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which names manifests and sources may use. Everything that passes here can go into a message, a
// spec, a C++ name expression or a path below a template's directory as it is.

#include <string_view>

namespace kiln {

// Templates, parameters, arguments, tuning values: [a-z][a-z0-9_]{0,63}.
bool is_manifest_name(std::string_view text);
// [A-Za-z_][A-Za-z0-9_]{0,63}
bool is_identifier(std::string_view text);
// Identifiers joined by "::".
bool is_qualified_name(std::string_view text);
// A file in the same directory: [A-Za-z0-9_.+-]{1,255}, not starting with a dot.
bool is_file_name(std::string_view text);
// File names joined by '/': relative, and never upwards.
bool is_include_name(std::string_view text);

}  // namespace kiln
