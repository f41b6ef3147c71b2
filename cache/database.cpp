// SPDX-License-Identifier: Apache-2.0
#include "cache/database.h"

#include "cache/directory.h"
#include "support/files.h"
#include "support/log.h"

#include <sys/stat.h>

#include <optional>

namespace kiln {

Status Database::run(Intent intent, const Operation& operation) {
  Status status = attempt(intent, operation);
  const bool is_named = status.message().find(files_.database) != std::string::npos;
  return is_named ? status : status.with_context(files_.database);
}

Status Database::attempt(Intent intent, const Operation& operation) {
  std::optional<SignalBlock> block;
  if (intent == Intent::write) block.emplace();
  bool may_reopen = true;
  bool may_quarantine = mode_ == StoreMode::read_write;
  while (true) {
    Status status = refresh(intent);
    if (status.is_ok()) {
      if (connection_ == nullptr) return {};
      status = operation(*connection_);
      if (status.is_ok()) return {};
    }
    if (connection_ == nullptr) return status;
    if (may_reopen && is_usable_ && status.origin() == Origin::sqlite && !is_current()) {
      // What was seen belongs to files that others have replaced.
      may_reopen = false;
      intent = Intent::write;
      continue;
    }
    if (status.code() != Code::corrupt || !may_quarantine) return status;
    may_quarantine = false;
    KILN_TRY(quarantine(status));
  }
}

Status Database::transact(const Operation& operation, std::chrono::milliseconds patience) {
  return run(Intent::write, [&](Connection& connection) -> Status {
    connection.set_busy_limit(patience);
    auto transaction = Transaction::begin(connection);
    connection.set_busy_limit(kPatience);
    KILN_TRY(transaction.status());
    KILN_TRY(operation(connection));
    return transaction->commit();
  });
}

bool Database::is_current() const {
  return !connection_->has_moved() && companions_ == companion_files(files_);
}

Status Database::refresh(Intent intent) {
  const auto now = std::chrono::steady_clock::now();
  if (!is_usable_) connection_.reset();
  if (connection_ != nullptr &&
      (intent == Intent::write || now - checked_at_ >= std::chrono::seconds(1))) {
    checked_at_ = now;
    if (connection_->has_moved()) {
      connection_.reset();
    } else if (companions_ != companion_files(files_)) {
      KILN_TRY(restore_log());
    }
  }
  if (connection_ == nullptr) {
    checked_at_ = now;
    KILN_TRY(open_connection());
  }
  if (intent == Intent::write && connection_ != nullptr) prepare_for_writing();
  return {};
}

Status Database::open_connection() {
  const SignalBlock block;  // the first read may recover a log, and so write
  Status status = mode_ == StoreMode::read_write ? open_writable() : open_read_only();
  // Kept after damage, to know which file it was that is damaged.
  if (!status.is_ok() && status.code() != Code::corrupt) connection_.reset();
  return status;
}

Status Database::open_writable() {
  Status opened = open_existing();
  const bool may_be_passing = opened.origin() == Origin::sqlite && opened.code() == Code::io;
  if (opened.code() != Code::not_found && !may_be_passing) return opened;
  // Removed while the store was open, or replaced while it was opened. Nobody replaces it now.
  connection_.reset();
  KILN_TRY(prepare_cache_directory(files_.directory));
  KILN_TRY_ASSIGN(const UniqueFd lock, lock_files(files_));
  opened = open_existing();
  if (opened.code() != Code::not_found) return opened;
  KILN_TRY(create_database(files_));
  return open_existing();
}

Status Database::open_existing() {
  KILN_TRY(check_ownership(files_.database));
  return use(Connection::Access::read_write);
}

Status Database::open_read_only() {
  struct stat status {};
  if (::stat(files_.database.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    return system_failure(Code::io, errno, files_.database);
  }
  if (!S_ISREG(status.st_mode)) {
    return failure(Code::invalid_argument, "{} is not a regular file", files_.database);
  }
  Status opened = use(Connection::Access::read_only);
  if (opened.code() != Code::io) return opened;
  // A database with a log cannot be read without its index, which cannot be made here. If there
  // is nothing in the log, the file alone is all there is.
  if (::stat(files_.log.c_str(), &status) == 0 && status.st_size > 0) return opened;
  return use(Connection::Access::immutable);
}

Status Database::use(Connection::Access access) {
  is_usable_ = false;
  is_prepared_for_writing_ = false;
  KILN_TRY_ASSIGN(connection_, Connection::open(files_.database, access));
  KILN_TRY(check_identity(*connection_));
  // The first read opens log and index, whose identities are needed later.
  Status read = connection_->execute("SELECT 1 FROM sqlite_schema LIMIT 1");
  // What SQLite calls an error in the statement is a schema that it cannot read.
  if (read.native_code() == SQLITE_ERROR) read = read.with_code(Code::corrupt);
  KILN_TRY(read);
  companions_ = companion_files(files_);
  // Somebody else has changed the mode: nothing is lost yet, but a power cut could do more harm.
  if (access == Connection::Access::read_write && companions_.log_inode == 0) {
    // Who keeps it from this may itself wait for the lock that this process holds.
    connection_->set_busy_limit(std::chrono::milliseconds(0));
    const Status switched = connection_->execute("PRAGMA journal_mode = WAL");
    connection_->set_busy_limit(kPatience);
    if (!switched.is_ok()) log(LogLevel::debug, "{}: {}", files_.database, switched.message());
    KILN_TRY(connection_->execute("SELECT 1 FROM sqlite_schema LIMIT 1"));  // makes the log
    companions_ = companion_files(files_);
  }
  is_usable_ = true;
  return {};
}

void Database::prepare_for_writing() {
  if (is_prepared_for_writing_ || mode_ != StoreMode::read_write) return;
  const Status status =
      connection_->execute("PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 4194304");
  // The write itself will meet what stood in the way of this.
  if (!status.is_ok()) log(LogLevel::debug, "{}: {}", files_.database, status.message());
  is_prepared_for_writing_ = status.is_ok();
}

Status Database::quarantine(const Status& reason) {
  const SignalBlock block;
  KILN_TRY_ASSIGN(const UniqueFd lock, lock_files(files_));
  // Somebody else may have done it while this process waited.
  if (!connection_->has_moved()) {
    KILN_TRY(replace_damaged(files_));
    ++quarantined_;
    quarantine_reason_ = reason;
    log(LogLevel::warning, "{} is damaged ({}); moved to {}, beginning a new one", files_.database,
        reason.message(), files_.quarantine);
  }
  connection_.reset();
  return {};
}

Status Database::restore_log() {
  const SignalBlock block;
  if (mode_ != StoreMode::read_write) {
    connection_.reset();
    return {};
  }
  {
    KILN_TRY_ASSIGN(const UniqueFd lock, lock_files(files_));
    if (!connection_->has_moved()) {
      KILN_TRY(rebuild(files_, *connection_));
      log(LogLevel::warning, "the log of {} was removed by somebody else; the database was rebuilt",
          files_.database);
    }
  }
  connection_->keep_files_on_close();
  connection_.reset();
  return {};
}

void Database::let_go() {
  if (connection_ == nullptr) return;
  connection_->keep_files_on_close();
  connection_.reset();
}

}  // namespace kiln
