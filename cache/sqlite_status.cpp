// SPDX-License-Identifier: Apache-2.0
#include "cache/sqlite_status.h"

namespace kiln {
namespace {

Code code_of(int extended) {
  switch (extended) {
    // A write-ahead log shorter than its index says, because somebody removed or truncated it.
    case SQLITE_IOERR_SHORT_READ:
      return Code::corrupt;
    case SQLITE_IOERR_NOMEM:
      return Code::out_of_memory;
    default:
      break;
  }
  switch (extended & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return Code::busy;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    // No statement of ours can violate the schema of ours, so it is another: the text of a
    // default value has changed, or an index has what its table has not.
    case SQLITE_CONSTRAINT:
      return Code::corrupt;
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return Code::io;
    case SQLITE_NOMEM:
      return Code::out_of_memory;
    case SQLITE_TOOBIG:
      return Code::invalid_argument;
    default:
      return Code::internal;
  }
}

}  // namespace

Status sqlite_failure(sqlite3* connection, int code) {
  // The connection's text is about its last call; it tells more only if that is this one.
  const bool is_last = connection != nullptr && sqlite3_extended_errcode(connection) == code;
  const char* text = is_last ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
  return Status({.code = code_of(code),
                 .origin = Origin::sqlite,
                 .native_code = code,
                 .message = fmt::format("SQLite: {} (code {})", text, code)});
}

}  // namespace kiln
