// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which compiler made an artifact. Two builds of NVRTC with one version number are two toolchains.
// Reads only the parts of libnvrtc that it needs: the file has over 100 MB.

#include "support/digest.h"
#include "support/status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace kiln {

struct Toolchain {
  int major = 0;
  int minor = 0;
  std::string build_id;  // ELF build id of libnvrtc, hexadecimal; may be empty
  std::int64_t library_bytes = 0;
  Digest builtins;  // SHA-256 of libnvrtc-builtins

  bool operator==(const Toolchain&) const = default;
  // "nvrtc-13.0+<build id>+<bytes>+<builtins>", what goes into keys and entries.
  std::string text() const;
};

// Back from Toolchain::text(); invalid_argument for anything else.
Result<Toolchain> parse_toolchain(std::string_view text);

// A library file as it was when its toolchain was read; valid while stat() still agrees.
struct ToolchainMemo {
  std::string path;
  std::int64_t device = 0;
  std::int64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::string toolchain;  // Toolchain::text()
};

// Hexadecimal GNU build id of an ELF file, wherever in it the note is; empty if it has none or is
// no ELF file.
std::string read_build_id(const std::string& path);

// "libnvrtc-builtins.so.13.0"
std::string builtins_name(int major, int minor);

// The builtins library that NVRTC at `library` will use: one that the process has loaded, else the
// one beside it, else what the loader finds. not_found names what was looked for and where.
Result<std::string> find_builtins(const std::string& library, int major, int minor);

// Reads build id, size and builtins of the library at `path`; about 4 ms. not_found or corrupt if
// libnvrtc-builtins of the same version is not beside it or in the loader's search path.
Result<Toolchain> read_toolchain(const std::string& path, int major, int minor);

Result<ToolchainMemo> make_memo(const std::string& path, const Toolchain& toolchain);
// One stat(); false if the file is gone or differs in any field.
bool is_current(const ToolchainMemo& memo);

}  // namespace kiln
