// SPDX-License-Identifier: Apache-2.0
// How a store stays within its limit.
#include "cache/store_files.h"
#include "cache/store_impl.h"
#include "support/log.h"

namespace kiln {
namespace {

// The empty tables, and what an entry takes beside its own bytes.
constexpr std::int64_t kOverheadBytes = std::int64_t{24} * 4096;
// A put must not wait for readers; the next one tries again.
constexpr std::chrono::milliseconds kPatienceForReaders{50};

}  // namespace

std::int64_t Store::Impl::file_bytes() const {
  return kiln::file_bytes(database.files().database) + kiln::file_bytes(database.files().log);
}

Status Store::Impl::limit_quarantine(std::int64_t used_bytes, std::int64_t most_bytes) const {
  const std::int64_t bytes = quarantine_bytes(database.files());
  if (bytes == 0 || bytes <= most_bytes - used_bytes) return {};
  log(LogLevel::info, "{} removed: {} bytes beyond the limit", database.files().quarantine, bytes);
  return remove_quarantine(database.files());
}

Status Store::Impl::make_room(Eviction& eviction, std::int64_t entry_bytes) {
  const std::int64_t needed_bytes = entry_bytes + kOverheadBytes;
  PageUse use;
  KILN_TRY(database.run(Database::Intent::read, [&](Connection& connection) -> Status {
    KILN_TRY_ASSIGN(use, page_use(connection));
    return {};
  }));
  KILN_TRY(limit_quarantine(use.file_bytes + needed_bytes, limit_bytes));
  if (use.used_bytes + needed_bytes <= limit_bytes) return {};
  // What this process has used counts.
  if (const Status status = flush(Database::kPatience); !status.is_ok()) {
    log(LogLevel::info, "{}: hits not written: {}", database.files().database, status.message());
  }
  return database.run(Database::Intent::read, [&](Connection& connection) {
    return eviction.survey(connection, needed_bytes, unix_time());
  });
}

Status Store::Impl::evict_more(Eviction& eviction) {
  if (!eviction.is_surveyed()) {
    KILN_TRY(database.run(Database::Intent::read, [&](Connection& connection) {
      return eviction.survey(connection, 0, unix_time());
    }));
  }
  KILN_TRY(database.transact([&](Connection& connection) { return eviction.run(connection); }));
  eviction.commit();
  return {};
}

Status Store::Impl::empty_log(std::chrono::milliseconds patience) {
  return database.run(Database::Intent::write, [&](Connection& connection) -> Status {
    connection.set_busy_limit(patience);
    const auto checkpoint = [&]() -> Status {
      KILN_TRY_ASSIGN(Statement statement, connection.statement("PRAGMA wal_checkpoint(TRUNCATE)"));
      return statement.run();
    };
    Status status = checkpoint();
    connection.set_busy_limit(Database::kPatience);
    return status;
  });
}

void Store::Impl::settle() {
  Status status = limit_quarantine(file_bytes(), limit_bytes);
  if (file_bytes() + quarantine_bytes(database.files()) > limit_bytes) {
    if (const Status emptied = empty_log(kPatienceForReaders); status.is_ok()) status = emptied;
  }
  if (!status.is_ok()) {
    log(LogLevel::info, "{}: not cut to its limit: {}", database.files().database,
        status.message());
  }
}

}  // namespace kiln
