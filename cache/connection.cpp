// SPDX-License-Identifier: Apache-2.0
#include "cache/connection.h"

#include "cache/sqlite_status.h"
#include "support/files.h"
#include "support/log.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

namespace kiln {
namespace {

// What SQLite's URI parser would take for syntax is escaped.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain =
        byte < 0x80 && (std::isalnum(byte) != 0 || c == '/' || c == '-' || c == '_' || c == '.');
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return uri + "?immutable=1";
}

}  // namespace

Statement::~Statement() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);  // repeats the failure of the last step
  sqlite3_clear_bindings(statement_);
}

Statement& Statement::bind(int parameter, std::int64_t value) {
  note(sqlite3_bind_int64(statement_, parameter, value));
  return *this;
}

Statement& Statement::bind(int parameter, std::string_view text) {
  // SQLite takes a null pointer, which an empty view may have, for NULL.
  const char* data = text.data() == nullptr ? "" : text.data();
  note(sqlite3_bind_text64(statement_, parameter, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind(int parameter, const Digest& digest) {
  note(sqlite3_bind_blob64(statement_, parameter, digest.bytes.data(), digest.bytes.size(),
                           SQLITE_STATIC));
  return *this;
}

Statement& Statement::bind_blob(int parameter, std::string_view bytes) {
  const char* data = bytes.data() == nullptr ? "" : bytes.data();
  note(sqlite3_bind_blob64(statement_, parameter, data, bytes.size(), SQLITE_STATIC));
  return *this;
}

Result<bool> Statement::step() {
  sqlite3* connection = sqlite3_db_handle(statement_);
  if (bind_result_ != SQLITE_OK) return sqlite_failure(connection, bind_result_);
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return sqlite_failure(connection, result);
}

Status Statement::run() {
  while (true) {
    KILN_TRY_ASSIGN(const bool has_row, step());
    if (!has_row) return {};
  }
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

const char* Statement::name(int column) const {
  const char* name = sqlite3_column_name(statement_, column);
  return name == nullptr ? "" : name;
}

bool Statement::digest(int column, Digest& out) const {
  const std::string_view value = bytes(column);
  if (value.size() != out.bytes.size()) return false;
  std::copy(value.begin(), value.end(), out.bytes.begin());
  return true;
}

void Connection::ConnectionTraits::close(Handle handle) noexcept {
  const int result = sqlite3_close(handle);
  if (result != SQLITE_OK) log(LogLevel::warning, "closing the database: SQLite code {}", result);
}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path, Access access) {
  std::unique_ptr<Connection> self(new Connection);
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= access == Access::read_write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  if (access == Access::immutable) flags |= SQLITE_OPEN_URI;
  const std::string name = access == Access::immutable ? immutable_uri(path) : path;
  const int result = sqlite3_open_v2(name.c_str(), self->connection_.out(), flags, nullptr);
  sqlite3* handle = self->connection_.get();
  if (result != SQLITE_OK) return sqlite_failure(handle, result).with_context(path);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kLongestValue);
  sqlite3_busy_handler(handle, &Connection::wait_for_others, self.get());
  sqlite3_int64 no_mapping = 0;
  for (const int configured :
       {sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr),
        sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr),
        sqlite3_file_control(handle, "main", SQLITE_FCNTL_MMAP_SIZE, &no_mapping)}) {
    if (configured != SQLITE_OK) return sqlite_failure(handle, configured).with_context(path);
  }
  return self;
}

Connection::~Connection() {
  const SignalBlock block;  // closing the last connection checkpoints the log
  statements_.clear();
  connection_.reset();
}

int Connection::wait_for_others(void* self, int attempt) {
  auto& connection = *static_cast<Connection*>(self);
  const auto now = std::chrono::steady_clock::now();
  if (attempt == 0) {
    connection.busy_since_ = now;
    connection.backoff_ = Backoff(std::chrono::milliseconds(25));
  }
  if (now - connection.busy_since_ >= connection.busy_limit_) return 0;
  connection.backoff_.pause();
  return 1;
}

Result<Statement> Connection::statement(const char* sql) {
  for (const auto& [text, kept] : statements_) {
    if (text == sql) return Statement(kept.get());
  }
  UniqueHandle<StatementTraits> prepared;
  sqlite3* handle = connection_.get();
  const int result =
      sqlite3_prepare_v3(handle, sql, -1, SQLITE_PREPARE_PERSISTENT, prepared.out(), nullptr);
  if (result == SQLITE_ERROR) return sqlite_failure(handle, result).with_code(Code::corrupt);
  if (result != SQLITE_OK) return sqlite_failure(handle, result);
  return Statement(statements_.emplace_back(sql, std::move(prepared)).second.get());
}

Status Connection::execute(const char* sql) {
  const int result = sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) return sqlite_failure(connection_.get(), result);
  return {};
}

bool Connection::has_moved() const {
  int has_moved = 0;
  const int result =
      sqlite3_file_control(connection_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
  return result == SQLITE_OK && has_moved != 0;
}

bool Connection::read_start(char* buffer, int size) const {
  sqlite3_file* file = nullptr;
  const int result =
      sqlite3_file_control(connection_.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (result != SQLITE_OK || file == nullptr || file->pMethods == nullptr) return false;
  return file->pMethods->xRead(file, buffer, size, 0) == SQLITE_OK;
}

void Connection::keep_files_on_close() {
  sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

Result<std::int64_t> read_integer(Connection& connection, const char* sql) {
  KILN_TRY_ASSIGN(Statement query, connection.statement(sql));
  KILN_TRY_ASSIGN(const bool has_row, query.step());
  return has_row ? query.integer(0) : 0;
}

DatabaseHeader read_header(const Connection& connection) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::array<char, 100> bytes{};
  if (!connection.read_start(bytes.data(), static_cast<int>(bytes.size()))) return {};
  const auto big_endian = [&](std::size_t offset) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      value = value << 8U | static_cast<unsigned char>(bytes.at(offset + i));
    }
    return std::int64_t{static_cast<std::int32_t>(value)};
  };
  return {.is_database = std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0,
          .format = std::max(static_cast<unsigned char>(bytes[18]),   // to write
                             static_cast<unsigned char>(bytes[19])),  // to read
          .application_id = big_endian(68),
          .user_version = big_endian(60)};
}

Result<Transaction> Transaction::begin(Connection& connection) {
  KILN_TRY_ASSIGN(Statement begin, connection.statement("BEGIN IMMEDIATE"));
  KILN_TRY(begin.run());
  return Transaction(connection);
}

Result<Transaction> Transaction::begin_read(Connection& connection) {
  KILN_TRY_ASSIGN(Statement begin, connection.statement("BEGIN DEFERRED"));
  KILN_TRY(begin.run());
  return Transaction(connection);
}

Transaction::~Transaction() {
  // SQLite may have rolled back on its own, as it does when the disk is full.
  if (connection_ == nullptr || !connection_->is_in_transaction()) return;
  if (const Status status = connection_->execute("ROLLBACK"); !status.is_ok()) {
    log(LogLevel::warning, "rolling back: {}", status.message());
  }
}

Status Transaction::commit() {
  KILN_TRY_ASSIGN(Statement commit, connection_->statement("COMMIT"));
  return commit.run();
}

}  // namespace kiln
