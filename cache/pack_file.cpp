// SPDX-License-Identifier: Apache-2.0
#include "cache/pack_file.h"

#include "cache/embedded_schema.h"
#include "support/files.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace kiln {
namespace {

constexpr char kSchema[] = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL LIMIT 16";
constexpr int kSchemaObjects = 5;  // of pack.sql and entries.sql

Result<std::string> resolve(const std::string& path) {
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::canonical(path, error);
  if (!error) return resolved.string();
  const bool is_absent = error.value() == ENOENT || error.value() == ENOTDIR;
  return system_failure(is_absent ? Code::not_found : Code::io, error.value(), path);
}

Status check_place(const std::string& path, bool trust_others) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return system_failure(Code::io, errno, path);
  if (!S_ISREG(status.st_mode)) {
    return failure(Code::invalid_argument, "{} is not a regular file", path);
  }
  if (trust_others) return {};
  KILN_TRY(check_shared_file(path));
  return check_shared_file(std::filesystem::path(path).parent_path().string());
}

Status check_header(const Connection& connection) {
  const DatabaseHeader header = read_header(connection);
  if (!header.is_database) return failure(Code::corrupt, "it is no SQLite database");
  if (header.application_id != kPackApplicationId) {
    return failure(Code::unsupported, "it is no pack: its application id is {:#x}, not {:#x}",
                   header.application_id, kPackApplicationId);
  }
  if (header.user_version > kPackSchema) {
    return failure(Code::unsupported, "its schema is {}; this Kiln knows {}", header.user_version,
                   kPackSchema);
  }
  if (header.user_version != kPackSchema || header.format != 1) {
    return failure(Code::corrupt, "it has schema {} and file format {}; a pack has {} and 1",
                   header.user_version, header.format, kPackSchema);
  }
  return {};
}

// Nothing but our own tables, to the letter: a view or a computed column in their place would be
// somebody else's program.
Status check_schema(Connection& connection) {
  const std::string known = schema_text("pack.sql") + schema_text("entries.sql");
  KILN_TRY_ASSIGN(Statement objects, connection.statement(kSchema));
  int count = 0;
  for (;; ++count) {
    KILN_TRY_ASSIGN(const bool has_row, objects.step());
    if (!has_row) break;
    const std::string text = std::string(objects.bytes(0)) + ';';
    if (text.size() < 2 || known.find(text) == std::string::npos) {
      return failure(Code::corrupt, "its tables are not those of schema {}", kPackSchema);
    }
  }
  if (count == kSchemaObjects) return {};
  return failure(Code::corrupt, "it has {} tables and indices; schema {} has {}", count,
                 kPackSchema, kSchemaObjects);
}

}  // namespace

Result<std::unique_ptr<Connection>> open_pack_file(const std::string& path, bool trust_others) {
  KILN_TRY_ASSIGN(const std::string file, resolve(path));
  KILN_TRY(check_place(file, trust_others));
  KILN_TRY_ASSIGN(auto connection, Connection::open(file, Connection::Access::immutable));
  KILN_TRY(check_header(*connection));
  KILN_TRY(check_schema(*connection));
  return connection;
}

}  // namespace kiln
