// SPDX-License-Identifier: Apache-2.0
#include "cache/entry_table.h"

#include "cache/entry_query.h"
#include "cache/sqlite_status.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace kiln {
namespace {

// In the order of read_facts() and bind_facts().
#define KILN_FACT_COLUMNS                                                                         \
  "key, request, template_name, spec, target, toolchain, lowered_name, layout, registers, "       \
  "shared_bytes, local_bytes, spill_store_bytes, spill_load_bytes, key_fields, log, compile_us, " \
  "created_at, image_bytes"
constexpr int kFactColumns = 18;
constexpr std::size_t kMostDamaged = 256;  // entries of one request

constexpr char kIdsByKey[] = "SELECT id FROM entries WHERE key = ?1";
constexpr char kIdsByRequest[] =
    "SELECT id FROM entries WHERE request = ?1 ORDER BY created_at DESC, id DESC";
constexpr char kFacts[] = "SELECT " KILN_FACT_COLUMNS ", entry_sha256 FROM entries WHERE id = ?1";
constexpr char kImage[] = "SELECT image FROM images WHERE entry = ?1";
constexpr char kDeleteEntry[] = "DELETE FROM entries WHERE id = ?1";
constexpr char kDeleteImage[] = "DELETE FROM images WHERE entry = ?1";
constexpr char kInsertEntry[] =
    "INSERT INTO entries (" KILN_FACT_COLUMNS
    ", entry_sha256) VALUES "
    "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)";
// REPLACE: a row that nothing refers to may be left under this number by damage.
constexpr char kInsertImage[] = "INSERT OR REPLACE INTO images (entry, image) VALUES (?1, ?2)";
// In the order of read_rows().
#define KILN_SELECT_ROW                                                          \
  "SELECT " KILN_FACT_COLUMNS                                                    \
  ", coalesce(length(image), 0), coalesce(hits, 0), coalesce(last_used_at, 0), " \
  "coalesce(pinned, 0) FROM entries LEFT JOIN images ON entry = id LEFT JOIN usage USING (key) "
constexpr char kRow[] = KILN_SELECT_ROW "WHERE key = ?1";
constexpr char kList[] = KILN_SELECT_ROW;
constexpr char kSums[] =
    "SELECT count(*), coalesce(sum(image_bytes), 0), "
    "(SELECT coalesce(sum(length(image)), 0) FROM images) FROM entries";

// Reads what it can, and keeps the first failure: a value that insert_entry() cannot have written.
class FactReader {
 public:
  explicit FactReader(const Statement& row) : row_(row) {}

  void digest(int column, Digest& out) {
    if (row_.digest(column, out)) return;
    note(failure(Code::corrupt, "{} has {} bytes; a digest has {}", row_.name(column),
                 row_.bytes(column).size(), Digest::kBytes));
  }

  void text(int column, std::string& out) {
    const std::string_view bytes = row_.bytes(column);
    if (bytes.size() <= kLongestFact) {
      out = bytes;
    } else {
      note(failure(Code::corrupt, "{} has {} bytes; at most {} are stored", row_.name(column),
                   bytes.size(), kLongestFact));
    }
  }

  void compressed_text(int column, std::string& out) {
    Result<std::string> text = decompress_text(row_.bytes(column));
    if (text.is_ok()) {
      out = std::move(*text);
    } else {
      note(text.status().with_context(row_.name(column)));
    }
  }

  void int32(int column, std::int32_t& out) {
    const std::int64_t value = row_.integer(column);
    out = static_cast<std::int32_t>(value);
    if (out != value) note(failure(Code::corrupt, "{} is {}", row_.name(column), value));
  }

  const Status& status() const { return status_; }

 private:
  void note(Status status) {
    if (status_.is_ok()) status_ = std::move(status);
  }

  const Statement& row_;
  Status status_;
};

Status read_facts(const Statement& row, EntryFacts& facts) {
  FactReader reader(row);
  Resources& resources = facts.resources;
  reader.digest(0, facts.key);
  reader.digest(1, facts.request);
  reader.text(2, facts.template_name);
  reader.text(3, facts.spec);
  reader.text(4, facts.target);
  reader.text(5, facts.toolchain);
  reader.text(6, facts.lowered_name);
  reader.text(7, facts.layout);
  reader.int32(8, resources.registers);
  reader.int32(9, resources.shared_bytes);
  reader.int32(10, resources.local_bytes);
  reader.int32(11, resources.spill_store_bytes);
  reader.int32(12, resources.spill_load_bytes);
  reader.compressed_text(13, facts.key_fields);
  reader.text(14, facts.log);
  facts.compile_us = row.integer(15);
  facts.created_at = row.integer(16);
  facts.image_bytes = row.integer(17);
  return reader.status();
}

// `key_fields`: those of the facts, compressed.
void bind_facts(Statement& statement, const EntryFacts& facts, std::string_view key_fields) {
  const Resources& resources = facts.resources;
  statement.bind(1, facts.key).bind(2, facts.request);
  statement.bind(3, facts.template_name).bind(4, facts.spec).bind(5, facts.target);
  statement.bind(6, facts.toolchain).bind(7, facts.lowered_name).bind(8, facts.layout);
  statement.bind(9, std::int64_t{resources.registers});
  statement.bind(10, std::int64_t{resources.shared_bytes});
  statement.bind(11, std::int64_t{resources.local_bytes});
  statement.bind(12, std::int64_t{resources.spill_store_bytes});
  statement.bind(13, std::int64_t{resources.spill_load_bytes});
  statement.bind_blob(14, key_fields).bind(15, facts.log);
  statement.bind(16, facts.compile_us).bind(17, facts.created_at).bind(18, facts.image_bytes);
}

// A value beyond the connection's limit is damage of this row, not a failure.
Result<bool> step_bounded(Statement& statement, std::string_view what) {
  auto has_row = statement.step();
  if (!has_row.is_ok() && (has_row.status().native_code() & 0xFF) == SQLITE_TOOBIG) {
    return failure(Code::corrupt, "{} is larger than any that is stored", what);
  }
  return has_row;
}

}  // namespace

Status read_entry_facts(Connection& connection,
                        std::int64_t id,
                        EntryFacts& facts,
                        Digest& entry_sha256) {
  KILN_TRY_ASSIGN(Statement row, connection.statement(kFacts));
  KILN_TRY_ASSIGN(const bool has_row, step_bounded(row.bind(1, id), "a fact"));
  if (!has_row) return failure(Code::not_found, "there is no entry {}", id);
  KILN_TRY(read_facts(row, facts));
  FactReader reader(row);
  reader.digest(kFactColumns, entry_sha256);
  return reader.status();
}

Status read_entry_image(Connection& connection,
                        std::int64_t id,
                        const EntryFacts& facts,
                        const Digest& entry_sha256,
                        std::string& image,
                        std::string* kept) {
  KILN_TRY_ASSIGN(Statement row, connection.statement(kImage));
  KILN_TRY_ASSIGN(const bool has_row, step_bounded(row.bind(1, id), "the image"));
  if (!has_row) return failure(Code::corrupt, "there is no image");
  const std::string_view stored = row.bytes(0);
  if (entry_digest(facts, stored) != entry_sha256) {
    return failure(Code::corrupt, "facts and image ({} bytes) are not those of entry_sha256",
                   stored.size());
  }
  KILN_TRY_ASSIGN(image, decompress_image(stored, facts.image_bytes));
  if (kept != nullptr) *kept = stored;
  return {};
}

namespace {

Status read_entry(Connection& connection,
                  std::int64_t id,
                  LookUp by,
                  const Digest& digest,
                  const EntryCheck& check,
                  Store::Found& found) {
  Digest entry_sha256;
  const Status read = read_entry_facts(connection, id, found.facts, entry_sha256);
  // The caller reads the same state of the database, so its index has a row that the table has not.
  if (read.code() == Code::not_found) return sqlite_failure(nullptr, SQLITE_CORRUPT_INDEX);
  KILN_TRY(read);
  if ((by == LookUp::key ? found.facts.key : found.facts.request) != digest) {
    return failure(Code::corrupt, "it is the entry of another key");
  }
  if (check) KILN_TRY(check(id, found.facts, entry_sha256));
  return read_entry_image(connection, id, found.facts, entry_sha256, found.image);
}

}  // namespace

Result<bool> find_entry(Connection& connection,
                        LookUp by,
                        const Digest& digest,
                        Store::Found& found,
                        std::vector<DamagedEntry>& damaged,
                        const EntryCheck& check) {
  KILN_TRY_ASSIGN(Statement ids,
                  connection.statement(by == LookUp::key ? kIdsByKey : kIdsByRequest));
  ids.bind(1, digest);
  while (true) {
    KILN_TRY_ASSIGN(const bool has_row, ids.step());
    if (!has_row) return false;
    const std::int64_t id = ids.integer(0);
    Status read = read_entry(connection, id, by, digest, check, found);
    if (read.is_ok()) return true;
    if (!is_entry_damage(read)) return read;
    // A damaged index may give rows for ever.
    if (damaged.size() == kMostDamaged) return sqlite_failure(nullptr, SQLITE_CORRUPT_INDEX);
    damaged.push_back({id, std::move(read)});
  }
}

Result<std::optional<std::int64_t>> find_entry_id(Connection& connection, const Digest& key) {
  KILN_TRY_ASSIGN(Statement ids, connection.statement(kIdsByKey));
  KILN_TRY_ASSIGN(const bool has_row, ids.bind(1, key).step());
  return has_row ? std::optional(ids.integer(0)) : std::nullopt;
}

Status delete_entry(Connection& connection, std::int64_t id) {
  for (const char* sql : {kDeleteImage, kDeleteEntry}) {
    KILN_TRY_ASSIGN(Statement statement, connection.statement(sql));
    KILN_TRY(statement.bind(1, id).run());
  }
  return {};
}

Status insert_entry(Connection& connection,
                    const EntryFacts& facts,
                    const Digest& digest,
                    std::string_view stored_image) {
  KILN_TRY_ASSIGN(const auto replaced, find_entry_id(connection, facts.key));
  if (replaced) KILN_TRY(delete_entry(connection, *replaced));
  {
    KILN_TRY_ASSIGN(const std::string key_fields, compress_text(facts.key_fields));
    KILN_TRY_ASSIGN(Statement entry, connection.statement(kInsertEntry));
    bind_facts(entry, facts, key_fields);
    KILN_TRY(entry.bind(kFactColumns + 1, digest).run());
  }
  KILN_TRY_ASSIGN(Statement image, connection.statement(kInsertImage));
  return image.bind(1, connection.last_row()).bind_blob(2, stored_image).run();
}

namespace {

// Those that the query asks for.
Status read_rows(Statement& statement, const EntryQuery& query, std::vector<EntryRow>& rows) {
  while (true) {
    KILN_TRY_ASSIGN(const bool has_row, statement.step());
    if (!has_row) return {};
    EntryRow row;
    if (!read_facts(statement, row.facts).is_ok() || !matches(query, row.facts)) continue;
    row.stored_bytes = statement.integer(kFactColumns);
    row.hits = statement.integer(kFactColumns + 1);
    row.last_used_at = std::max(statement.integer(kFactColumns + 2), row.facts.created_at);
    row.is_pinned = statement.integer(kFactColumns + 3) != 0;
    rows.push_back(std::move(row));
  }
}

}  // namespace

Result<std::vector<EntryRow>> list_entries(Connection& connection, const EntryQuery& query) {
  KILN_TRY_ASSIGN(Statement list, connection.statement(kList));
  std::vector<EntryRow> rows;
  KILN_TRY(read_rows(list, query, rows));
  return rows;
}

Result<std::vector<EntryRow>> list_entries(Connection& connection,
                                           const std::vector<Digest>& keys) {
  std::vector<EntryRow> rows;
  for (const Digest& key : keys) {
    KILN_TRY_ASSIGN(Statement row, connection.statement(kRow));
    KILN_TRY(read_rows(row.bind(1, key), {}, rows));
  }
  return rows;
}

Status sum_entries(Connection& connection, Store::Summary& summary) {
  KILN_TRY_ASSIGN(Statement sums, connection.statement(kSums));
  KILN_TRY_ASSIGN(const bool has_row, sums.step());
  if (!has_row) return {};
  summary.entries = sums.integer(0);
  summary.image_bytes = sums.integer(1);
  summary.stored_bytes = sums.integer(2);
  return {};
}

}  // namespace kiln
