// SPDX-License-Identifier: Apache-2.0
#include "cache/toolchain_table.h"

namespace kiln {
namespace {

constexpr char kRead[] =
    "SELECT path, device, inode, size, mtime_ns, toolchain FROM toolchains ORDER BY path";
constexpr char kWrite[] =
    "INSERT OR REPLACE INTO toolchains (path, device, inode, size, mtime_ns, toolchain) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

}  // namespace

Result<std::vector<ToolchainMemo>> read_toolchains(Connection& connection) {
  KILN_TRY_ASSIGN(Statement read, connection.statement(kRead));
  std::vector<ToolchainMemo> memos;
  while (true) {
    KILN_TRY_ASSIGN(const bool has_row, read.step());
    if (!has_row) return memos;
    memos.push_back({.path = std::string(read.bytes(0)),
                     .device = read.integer(1),
                     .inode = read.integer(2),
                     .size = read.integer(3),
                     .mtime_ns = read.integer(4),
                     .toolchain = std::string(read.bytes(5))});
  }
}

Status write_toolchain(Connection& connection, const ToolchainMemo& memo) {
  KILN_TRY_ASSIGN(Statement write, connection.statement(kWrite));
  write.bind(1, memo.path).bind(2, memo.device).bind(3, memo.inode).bind(4, memo.size);
  return write.bind(5, memo.mtime_ns).bind(6, memo.toolchain).run();
}

}  // namespace kiln
