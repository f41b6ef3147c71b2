// SPDX-License-Identifier: Apache-2.0
#include "cache/store_files.h"

#include "cache/embedded_schema.h"
#include "cache/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace kiln {

namespace {

constexpr std::int64_t kApplicationId = 0x4B494C4E;  // "KILN", as in schema.sql

Status remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return system_failure(Code::io, errno, path);
  }
  return {};
}

Status rename_file(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT) {
    return system_failure(Code::io, errno, from);
  }
  return {};
}

Status remove_database(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    KILN_TRY(remove_file(path + suffix));
  }
  return {};
}

// An empty file, private from its first byte; SQLite keeps the mode, and gives it to the log.
Status create_unfinished(const StoreFiles& files) {
  KILN_TRY(remove_database(files.unfinished));
  const UniqueFd fd(
      ::open(files.unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return system_failure(Code::io, errno, files.unfinished);
  return {};
}

// Switches to a write-ahead log, and makes the file durable before it gets its name.
Status finish(const StoreFiles& files, const char* schema) {
  {
    KILN_TRY_ASSIGN(auto connection,
                    Connection::open(files.unfinished, Connection::Access::read_write));
    // Nobody else knows the file, and it is synchronized as a whole below.
    KILN_TRY(connection->execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY"));
    if (schema != nullptr) KILN_TRY(connection->execute(schema));
    KILN_TRY_ASSIGN(Statement switched, connection->statement("PRAGMA journal_mode = WAL"));
    KILN_TRY_ASSIGN(const bool has_row, switched.step());
    if (!has_row || switched.bytes(0) != "wal") {
      return failure(Code::unsupported, "{}: the file system cannot keep a write-ahead log",
                     files.database);
    }
  }
  const UniqueFd fd(::open(files.unfinished.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return system_failure(Code::io, errno, files.unfinished);
  return {};
}

// The log and the index of an earlier database would be applied to the new one.
Status give_name(const StoreFiles& files) {
  KILN_TRY(remove_file(files.log));
  KILN_TRY(remove_file(files.shared));
  if (std::rename(files.unfinished.c_str(), files.database.c_str()) != 0) {
    return system_failure(Code::io, errno, files.database);
  }
  return {};
}

}  // namespace

StoreFiles::StoreFiles(std::string store_directory) : directory(std::move(store_directory)) {
  const std::string base = join_path(directory, fmt::format("store-v{}", kStoreSchema));
  database = base + ".db";
  log = database + "-wal";
  shared = database + "-shm";
  lock = base + ".lock";
  unfinished = base + ".new.db";
  retired = base + ".old.db";
  quarantine = base + ".quarantine.db";
}

Result<UniqueFd> lock_files(const StoreFiles& files) {
  return lock_file(files.lock, std::chrono::milliseconds(5000));
}

Status create_database(const StoreFiles& files) {
  KILN_TRY(remove_database(files.retired));
  KILN_TRY(create_unfinished(files));
  KILN_TRY(finish(files, (schema_text("schema.sql") + schema_text("entries.sql")).c_str()));
  return give_name(files);
}

Status replace_damaged(const StoreFiles& files) {
  KILN_TRY(remove_database(files.quarantine));
  // The database first: without it nobody can open the rest.
  KILN_TRY(rename_file(files.database, files.quarantine));
  KILN_TRY(rename_file(files.log, files.quarantine + "-wal"));
  KILN_TRY(rename_file(files.shared, files.quarantine + "-shm"));
  return create_database(files);
}

std::int64_t quarantine_bytes(const StoreFiles& files) {
  return file_bytes(files.quarantine) + file_bytes(files.quarantine + "-wal") +
         file_bytes(files.quarantine + "-shm");
}

Status remove_quarantine(const StoreFiles& files) {
  return remove_database(files.quarantine);
}

Status rebuild(const StoreFiles& files, Connection& connection) {
  KILN_TRY(create_unfinished(files));
  {
    KILN_TRY_ASSIGN(Statement copy, connection.statement("VACUUM INTO ?1"));
    KILN_TRY(copy.bind(1, files.unfinished).run());
  }
  KILN_TRY(finish(files, nullptr));
  KILN_TRY(remove_database(files.retired));
  KILN_TRY(rename_file(files.database, files.retired));
  KILN_TRY(give_name(files));
  return remove_file(files.retired);
}

std::int64_t file_bytes(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_size : 0;
}

Status check_ownership(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    return system_failure(errno == ENOENT ? Code::not_found : Code::io, errno, path);
  }
  if (!S_ISREG(status.st_mode)) {
    return failure(Code::invalid_argument, "{} is not a regular file", path);
  }
  if (status.st_uid != ::geteuid()) {
    return failure(Code::invalid_argument, "{} belongs to user {}; it must belong to user {}", path,
                   status.st_uid, ::geteuid());
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return failure(Code::invalid_argument,
                   "{} has mode {:04o}; group and others must not be able to write it", path,
                   status.st_mode & 07777U);
  }
  return {};
}

Status check_identity(Connection& connection) {
  // A file keeps both numbers from its first day, so what it says without its log is enough.
  const DatabaseHeader header = read_header(connection);
  // SQLite takes a file of a newer format for one that can only be read.
  if (header.format > 2) return failure(Code::corrupt, "its format is unknown");
  if (header.is_database && header.application_id == kApplicationId &&
      header.user_version == kStoreSchema) {
    return {};
  }
  // Something is wrong; now ask SQLite, which also knows the log.
  KILN_TRY_ASSIGN(const std::int64_t pages, read_integer(connection, "PRAGMA page_count"));
  KILN_TRY_ASSIGN(const std::int64_t id, read_integer(connection, "PRAGMA application_id"));
  KILN_TRY_ASSIGN(const std::int64_t schema, read_integer(connection, "PRAGMA user_version"));
  if (pages == 0) return failure(Code::corrupt, "the database is empty");
  if (id == kApplicationId && schema == kStoreSchema) return {};
  if (id == kApplicationId && schema > kStoreSchema) {
    return failure(Code::unsupported, "the database has schema {}; this Kiln knows {}", schema,
                   kStoreSchema);
  }
  if (id != kApplicationId) {
    KILN_TRY_ASSIGN(Statement check, connection.statement("PRAGMA quick_check(1)"));
    KILN_TRY_ASSIGN(const bool has_row, check.step());
    if (has_row && check.bytes(0) == "ok") {
      return failure(Code::unsupported, "the database has application id {}; Kiln's is {}", id,
                     kApplicationId);
    }
  }
  return failure(Code::corrupt, "the database has application id {} and schema {}", id, schema);
}

CompanionFiles companion_files(const StoreFiles& files) {
  const auto inode = [](const std::string& path) -> std::uint64_t {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
  };
  return {.log_inode = inode(files.log), .shared_inode = inode(files.shared)};
}

}  // namespace kiln
