// SPDX-License-Identifier: Apache-2.0
#pragma once

// One SQLite connection with its kept statements, and transactions on it. Not thread-safe: the
// store locks around it. Knows nothing of Kiln's tables.

#include "support/backoff.h"
#include "support/digest.h"
#include "support/status.h"
#include "support/unique_handle.h"

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln {

// A kept statement in use; reset when it goes out of scope. Bound text and blobs are borrowed until
// then, as are the texts and blobs of a row until the next step.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  Statement(Statement&& other) noexcept
      : statement_(std::exchange(other.statement_, nullptr)), bind_result_(other.bind_result_) {}
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  // Parameters count from 1. A failure is reported by the next step.
  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, std::string_view text);
  Statement& bind(int parameter, const Digest& digest);
  Statement& bind_blob(int parameter, std::string_view bytes);

  Result<bool> step();  // whether there is a row
  Status run();         // steps to the end

  // Columns count from 0.
  std::int64_t integer(int column) const;
  std::string_view bytes(int column) const;  // of text or blob, embedded NULs included
  const char* name(int column) const;
  // false if it has not as many bytes as a digest.
  bool digest(int column, Digest& out) const;

 private:
  void note(int result) {
    if (bind_result_ == SQLITE_OK) bind_result_ = result;
  }

  sqlite3_stmt* statement_;
  int bind_result_ = SQLITE_OK;
};

class Connection {
 public:
  enum class Access {
    read_write,  // the file must exist
    read_only,
    immutable,  // read only, no locks and no companion files: nobody may write meanwhile
  };

  // Most bytes that a value or a row may have, in and out: nothing larger is ever allocated.
  static constexpr int kLongestValue = (64 << 20) + (1 << 20);

  // How long a call waits for other processes unless told otherwise.
  static constexpr std::chrono::milliseconds kPatience{5000};

  static Result<std::unique_ptr<Connection>> open(const std::string& path, Access access);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Prepared at first use and kept; identified by its address, so `sql` must be a constant.
  // A statement that the schema refuses is corrupt: the file has not the schema that it claims.
  Result<Statement> statement(const char* sql);
  // One or more statements without parameters and results.
  Status execute(const char* sql);

  void set_busy_limit(std::chrono::milliseconds limit) { busy_limit_ = limit; }
  // Whether the path now names another file, or none.
  bool has_moved() const;
  // Reads the start of the file through SQLite's own descriptor: to open and close another one in
  // this process would drop SQLite's POSIX locks. false if the file is shorter.
  bool read_start(char* buffer, int size) const;
  // For connections that must not touch the files any more: those of a parent process, and those
  // whose log is not the one that others use.
  void keep_files_on_close();

  std::int64_t last_row() const { return sqlite3_last_insert_rowid(connection_.get()); }
  bool is_in_transaction() const { return sqlite3_get_autocommit(connection_.get()) == 0; }

 private:
  struct ConnectionTraits {
    using Handle = sqlite3*;
    static constexpr Handle null = nullptr;
    static void close(Handle handle) noexcept;
  };
  struct StatementTraits {
    using Handle = sqlite3_stmt*;
    static constexpr Handle null = nullptr;
    // Repeats the failure of the last step, which has been reported.
    static void close(Handle handle) noexcept { sqlite3_finalize(handle); }
  };

  Connection() = default;
  static int wait_for_others(void* self, int attempt);

  UniqueHandle<ConnectionTraits> connection_;
  std::vector<std::pair<const char*, UniqueHandle<StatementTraits>>> statements_;
  std::chrono::milliseconds busy_limit_ = kPatience;
  std::chrono::steady_clock::time_point busy_since_;
  Backoff backoff_{std::chrono::microseconds(0)};
};

// The first column of the first row; 0 if there is none.
Result<std::int64_t> read_integer(Connection& connection, const char* sql);

// The first page's first bytes: which application's file it is, and of which version.
struct DatabaseHeader {
  bool is_database = false;
  int format = 0;  // 1: rollback journal, 2: write-ahead log; more: SQLite's future
  std::int64_t application_id = 0;
  std::int64_t user_version = 0;
};
// What the file says without its log.
DatabaseHeader read_header(const Connection& connection);

// BEGIN IMMEDIATE; rolled back unless committed.
class Transaction {
 public:
  static Result<Transaction> begin(Connection& connection);
  // Only reads, all of them the same state; keeps nobody from writing.
  static Result<Transaction> begin_read(Connection& connection);
  Transaction(Transaction&& other) noexcept
      : connection_(std::exchange(other.connection_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status commit();

 private:
  explicit Transaction(Connection& connection) : connection_(&connection) {}
  Connection* connection_;
};

}  // namespace kiln
