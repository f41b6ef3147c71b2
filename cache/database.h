// SPDX-License-Identifier: Apache-2.0
#pragma once

// Keeps one connection to the store's database current: opens it at first use, creates the database
// when it is missing, follows when another process has replaced it, and quarantines it when it is
// damaged. Not thread-safe. Knows nothing of entries.

#include "cache/connection.h"
#include "cache/store.h"
#include "cache/store_files.h"
#include "support/status.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace kiln {

class Database {
 public:
  enum class Intent { read, write };
  static constexpr std::chrono::milliseconds kPatience = Connection::kPatience;
  using Operation = std::function<Status(Connection&)>;

  Database(const std::string& directory, StoreMode mode) : files_(directory), mode_(mode) {}

  // Runs `operation`, again if the database had to be reopened or quarantined because of it (at
  // most one of each): it must be able to start over. Without a database (inspect mode) it is
  // not run, and that is success.
  Status run(Intent intent, const Operation& operation);

  // The same, within one write transaction; busy if others keep it waiting for longer.
  Status transact(const Operation& operation, std::chrono::milliseconds patience = kPatience);

  const StoreFiles& files() const { return files_; }
  bool is_open() const { return connection_ != nullptr && is_usable_; }
  std::int64_t quarantined() const { return quarantined_; }
  // Why this object moved a database away the last time; success if it never did.
  const Status& quarantine_reason() const { return quarantine_reason_; }

  // In a forked child: closes the parent's connection without touching the files.
  void let_go();

 private:
  Status attempt(Intent intent, const Operation& operation);
  Status refresh(Intent intent);
  bool is_current() const;
  Status open_connection();
  Status open_writable();
  Status open_existing();
  Status open_read_only();
  Status use(Connection::Access access);
  Status quarantine(const Status& reason);
  Status restore_log();
  void prepare_for_writing();

  StoreFiles files_;
  StoreMode mode_;
  std::unique_ptr<Connection> connection_;
  CompanionFiles companions_;
  std::chrono::steady_clock::time_point checked_at_;
  bool is_usable_ = false;  // false: open only to know which file it is
  bool is_prepared_for_writing_ = false;
  std::int64_t quarantined_ = 0;
  Status quarantine_reason_;
};

}  // namespace kiln
