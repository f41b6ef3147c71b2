// SPDX-License-Identifier: Apache-2.0
// What a store tells about itself.
#include "cache/entry_query.h"
#include "cache/last_use.h"
#include "cache/store_files.h"
#include "cache/store_impl.h"
#include "cache/verification.h"

namespace kiln {

Result<std::vector<EntryRow>> Store::list(const EntryQuery& query) {
  KILN_TRY(check_query(query));
  std::vector<EntryRow> rows;
  {
    KILN_TRY_ASSIGN(const auto lock, impl_->guard.lock());
    KILN_TRY(impl_->database.run(Database::Intent::read, [&](Connection& connection) -> Status {
      if (!is_for_last_used(query)) {
        KILN_TRY_ASSIGN(rows, list_entries(connection, query));
        return {};
      }
      KILN_TRY_ASSIGN(const Transaction transaction, Transaction::begin_read(connection));
      KILN_TRY_ASSIGN(std::vector<Digest> keys, most_recently_used(connection, *query.limit));
      impl_->usage.add_to(keys);
      KILN_TRY_ASSIGN(rows, list_entries(connection, keys));
      return {};
    }));
    impl_->usage.add_to(rows);
  }
  sort_entries(query, rows);
  return rows;
}

Result<Counters> Store::counters() {
  KILN_TRY_ASSIGN(const auto lock, impl_->guard.lock());
  Counters counters;
  KILN_TRY(impl_->database.run(Database::Intent::read, [&](Connection& connection) {
    return read_counters(connection, counters);
  }));
  impl_->usage.add_to(counters);
  return counters;
}

Result<std::int64_t> Store::version() {
  KILN_TRY_ASSIGN(const auto lock, impl_->guard.lock());
  std::int64_t version = 0;
  KILN_TRY(impl_->database.run(Database::Intent::read, [&](Connection& connection) -> Status {
    KILN_TRY_ASSIGN(version, read_integer(connection, "PRAGMA data_version"));
    return {};
  }));
  return version;
}

Result<Store::Verification> Store::verify(bool repair) {
  if (repair) KILN_TRY(impl_->check_writable());
  Verifier verifier(impl_->database, repair);
  while (true) {
    KILN_TRY_ASSIGN(const auto lock, impl_->guard.lock());  // anew, so that others get their turn
    KILN_TRY_ASSIGN(const bool is_done, verifier.step());
    if (!is_done) continue;
    if (const std::int64_t lost = verifier.lost(); lost > 0) {
      impl_->usage.count(Counter::recovered, lost);
    }
    return verifier.result();
  }
}

Result<Store::Summary> Store::summary() {
  KILN_TRY_ASSIGN(const auto lock, impl_->guard.lock());
  Summary summary;
  Database& database = impl_->database;
  KILN_TRY(database.run(Database::Intent::read, [&](Connection& connection) -> Status {
    KILN_TRY_ASSIGN(Statement mode, connection.statement("PRAGMA journal_mode"));
    KILN_TRY_ASSIGN(const bool has_row, mode.step());
    summary.journal_mode = has_row ? mode.bytes(0) : "";
    return sum_entries(connection, summary);
  }));
  summary.path = database.files().database;
  summary.exists = database.is_open();
  summary.file_bytes = impl_->file_bytes();
  summary.log_bytes = file_bytes(database.files().log);
  summary.quarantine_bytes = quarantine_bytes(database.files());
  summary.limit_bytes = impl_->limit_bytes;
  summary.quarantined = database.quarantined();
  return summary;
}

}  // namespace kiln
