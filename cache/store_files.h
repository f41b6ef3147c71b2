// SPDX-License-Identifier: Apache-2.0
#pragma once

// The files of one store: how a database comes into being, is recognized, moved away when damaged
// and rebuilt when its log is lost. Whoever changes which file has the database's name holds the
// lock file; a file that has the name is complete. Knows nothing of entries.

#include "cache/connection.h"
#include "support/files.h"
#include "support/status.h"

#include <cstdint>
#include <string>

namespace kiln {

struct StoreFiles {
  explicit StoreFiles(std::string store_directory);

  std::string directory;
  std::string database;
  std::string log;     // "-wal"
  std::string shared;  // "-shm"
  std::string lock;
  std::string unfinished;  // a database that does not have its name yet
  std::string retired;     // a database that is being replaced
  std::string quarantine;
};

// Waits about 5 s.
Result<UniqueFd> lock_files(const StoreFiles& files);

// With the lock held, and no file under the database's name: makes an empty database. io;
// unsupported if the file system cannot keep a write-ahead log.
Status create_database(const StoreFiles& files);

// With the lock held: moves database, log and index away together, in the place of those moved away
// before, and makes an empty one.
Status replace_damaged(const StoreFiles& files);

// What the database that was moved away takes, with its log and index; 0 without one.
std::int64_t quarantine_bytes(const StoreFiles& files);
// Needs no lock: who moves another one there meanwhile loses what nobody needs.
Status remove_quarantine(const StoreFiles& files);

// With the lock held: puts a copy of what `connection` sees in the database's place, for when its
// log or index is no longer the one that others would open. Nothing is changed on failure.
Status rebuild(const StoreFiles& files, Connection& connection);

// 0 if there is no such file.
std::int64_t file_bytes(const std::string& path);

// A regular file of the caller's that nobody else may write; not_found if there is none.
Status check_ownership(const std::string& path);

// corrupt if the file is no database or not in the state that Kiln left it in; unsupported if it is
// another application's or of a newer schema.
Status check_identity(Connection& connection);

// Which log and index files have the names now; equal as long as nobody replaced them.
struct CompanionFiles {
  std::uint64_t log_inode = 0;
  std::uint64_t shared_inode = 0;
  bool operator==(const CompanionFiles&) const = default;
};
CompanionFiles companion_files(const StoreFiles& files);

}  // namespace kiln
