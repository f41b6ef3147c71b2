// SPDX-License-Identifier: Apache-2.0
#include "cache/verification.h"

#include "cache/entry_check.h"
#include "cache/entry_table.h"
#include "cache/sqlite_status.h"

#include <algorithm>
#include <string>
#include <utility>

namespace kiln {
namespace {

constexpr char kCheckDatabase[] = "PRAGMA integrity_check(20)";
// So many rows a step, and with a repair a transaction.
#define KILN_STEP "64"
constexpr std::int64_t kStep = 64;
constexpr char kEntries[] = "SELECT id FROM entries WHERE id >= ?1 ORDER BY id LIMIT " KILN_STEP;
constexpr char kOrphans[] =
    "SELECT entry FROM images WHERE entry >= ?1 AND entry NOT IN (SELECT id FROM entries) "
    "ORDER BY entry LIMIT " KILN_STEP;
constexpr char kDropOrphan[] =
    "DELETE FROM images WHERE entry = ?1 AND entry NOT IN (SELECT id FROM entries)";

#define KILN_KEY_FAULT \
  "WHEN length(key) <> 32 THEN 'key has ' || length(key) || ' bytes; a digest has 32' "
#define KILN_USAGE_FAULT                                           \
  "CASE " KILN_KEY_FAULT                                           \
  "WHEN hits < 0 THEN 'hits is ' || hits "                         \
  "WHEN last_used_at < 0 THEN 'last_used_at is ' || last_used_at " \
  "WHEN pinned NOT IN (0, 1) THEN 'pinned is ' || pinned END"
#define KILN_VERDICT_FAULT                                                             \
  "CASE " KILN_KEY_FAULT                                                               \
  "WHEN checked_elements < 0 THEN 'checked_elements is ' || checked_elements "         \
  "WHEN differing_elements NOT BETWEEN 0 AND checked_elements "                        \
  "THEN 'differing_elements is ' || differing_elements || ' of ' || checked_elements " \
  "WHEN checked_at < 0 THEN 'checked_at is ' || checked_at END"
constexpr char kBadUsage[] = "SELECT lower(hex(substr(key, 1, 32))), " KILN_USAGE_FAULT
                             " AS fault FROM usage WHERE fault IS NOT NULL";
constexpr char kDropUsage[] = "DELETE FROM usage WHERE " KILN_USAGE_FAULT " IS NOT NULL";
constexpr char kBadVerdicts[] = "SELECT lower(hex(substr(key, 1, 32))), " KILN_VERDICT_FAULT
                                " AS fault FROM verdicts WHERE fault IS NOT NULL";
constexpr char kDropVerdicts[] = "DELETE FROM verdicts WHERE " KILN_VERDICT_FAULT " IS NOT NULL";

Status database_damage(const std::string& lines) {
  return Status({.code = Code::corrupt,
                 .origin = Origin::sqlite,
                 .native_code = SQLITE_CORRUPT,
                 .message = "SQLite: " + lines.substr(0, lines.find('\n')),
                 .detail = lines});
}

Status check_database(Connection& connection) {
  KILN_TRY_ASSIGN(Statement check, connection.statement(kCheckDatabase));
  std::string lines;
  while (true) {
    const Result<bool> has_row = check.step();
    if (!has_row.is_ok()) {
      if (has_row.status().code() != Code::corrupt) return has_row.status();
      return database_damage(lines + has_row.status().message());
    }
    if (!*has_row) break;
    lines += check.bytes(0);
    lines += '\n';
  }
  return lines == "ok\n" ? Status() : database_damage(lines);
}

Status drop_entries(Connection& connection, std::vector<Store::Damage>& damage) {
  std::vector<Store::Damage> dropped;
  for (Store::Damage& entry : damage) {
    StoredEntry seen;
    Status checked = check_entry(connection, entry.row, seen);
    // Somebody has replaced or dropped it since.
    if (checked.is_ok() || checked.code() == Code::not_found) continue;
    if (!is_entry_damage(checked)) return checked;
    KILN_TRY(delete_entry(connection, entry.row));
    dropped.push_back(std::move(entry));
  }
  damage = std::move(dropped);
  return {};
}

Status drop_orphans(Connection& connection, std::vector<Store::Damage>& damage) {
  for (const Store::Damage& image : damage) {
    KILN_TRY_ASSIGN(Statement drop, connection.statement(kDropOrphan));
    KILN_TRY(drop.bind(1, image.row).run());
  }
  return {};
}

template <typename Found>
Status find_bad_rows(Connection& connection,
                     std::string_view table,
                     const char* sql,
                     Found& found) {
  KILN_TRY_ASSIGN(Statement rows, connection.statement(sql));
  while (true) {
    KILN_TRY_ASSIGN(const bool has_row, rows.step());
    if (!has_row) return {};
    if (found.damage.size() == Store::Verification::kMostDamage) {
      ++found.unlisted;
      continue;
    }
    found.damage.push_back(
        {.table = table, .key = std::string(rows.bytes(0)), .reason = std::string(rows.bytes(1))});
  }
}

Status drop_rows(Connection& connection, const char* sql) {
  KILN_TRY_ASSIGN(Statement drop, connection.statement(sql));
  return drop.run();
}

}  // namespace

Result<bool> Verifier::step() {
  switch (phase_) {
    case Phase::database:
      KILN_TRY(run([](Connection& connection, Found&) { return check_database(connection); }, {}));
      break;
    case Phase::entries:
      KILN_TRY(run([this](Connection& c, Found& found) { return find_damaged_entries(c, found); },
                   drop_entries));
      break;
    case Phase::images:
      KILN_TRY(run([this](Connection& c, Found& found) { return find_orphans(c, found); },
                   drop_orphans));
      break;
    case Phase::usage:
      KILN_TRY(run([](Connection& c, Found& f) { return find_bad_rows(c, "usage", kBadUsage, f); },
                   [](Connection& c, auto&) { return drop_rows(c, kDropUsage); }));
      break;
    case Phase::verdicts:
      KILN_TRY(
          run([](Connection& c, Found& f) { return find_bad_rows(c, "verdicts", kBadVerdicts, f); },
              [](Connection& c, auto&) { return drop_rows(c, kDropVerdicts); }));
      break;
    case Phase::done:
      break;
  }
  return phase_ == Phase::done;
}

Result<Verifier::Found> Verifier::find(const Search& search) {
  constexpr Code kLeaveAlone = Code::not_ready;
  Found found;
  const Status status = database_.run(Database::Intent::read, [&](Connection& connection) {
    found = {};
    const Status searched = search(connection, found);
    // Under that code the database is still opened anew if others replaced it, but not moved away.
    const bool is_corrupt = searched.code() == Code::corrupt;
    return is_corrupt && !repair_ ? searched.with_code(kLeaveAlone) : searched;
  });
  if (status.code() != kLeaveAlone && (repair_ || status.code() != Code::corrupt)) {
    KILN_TRY(status);
    return found;
  }
  note_database_damage(status);
  found.is_last = true;
  return found;
}

Status Verifier::run(const Search& search, const Drop& drop) {
  KILN_TRY_ASSIGN(Found found, find(search));
  const bool is_dropping = repair_ && !found.damage.empty();
  if (is_dropping) {
    std::vector<Store::Damage> dropped;
    KILN_TRY(database_.transact([&](Connection& connection) {
      dropped = found.damage;
      return drop(connection, dropped);
    }));
    found.damage = std::move(dropped);
  }
  const std::int64_t rows = std::ssize(found.damage) + found.unlisted;
  result_.entries += found.checked;
  result_.damaged_rows += rows;
  if (phase_ == Phase::entries) result_.damaged_entries += rows;
  if (is_dropping) result_.dropped_rows += rows;
  if (is_dropping && phase_ == Phase::entries) lost_entries_ += rows;
  for (Store::Damage& damage : found.damage) {
    if (result_.damage.size() == Store::Verification::kMostDamage) break;
    damage.is_dropped = is_dropping;
    result_.damage.push_back(std::move(damage));
  }
  next_row_ = found.next_row;
  if (!found.is_last) return {};
  phase_ = static_cast<Phase>(static_cast<int>(phase_) + 1);
  next_row_ = std::numeric_limits<std::int64_t>::min();
  result_.exists = database_.is_open();
  result_.is_quarantined = database_.quarantined() > 0;
  if (phase_ == Phase::done && result_.is_quarantined) {
    note_database_damage(database_.quarantine_reason());
  }
  return {};
}

Status Verifier::find_damaged_entries(Connection& connection, Found& found) const {
  // One state of the database, so that an entry cannot be half that of one writer and half that of
  // the next.
  KILN_TRY_ASSIGN(const Transaction transaction, Transaction::begin_read(connection));
  KILN_TRY_ASSIGN(Statement ids, connection.statement(kEntries));
  ids.bind(1, next_row_);
  std::int64_t rows = 0;
  for (; rows < kStep; ++rows) {
    KILN_TRY_ASSIGN(const bool has_row, ids.step());
    if (!has_row) break;
    const std::int64_t id = ids.integer(0);
    KILN_TRY(go_on_after(id, found));
    StoredEntry entry;
    Status checked = check_entry(connection, id, entry);
    const EntryFacts& facts = entry.facts;
    // The page that lists it does not lead to it.
    if (checked.code() == Code::not_found) checked = sqlite_failure(nullptr, SQLITE_CORRUPT);
    ++found.checked;
    if (checked.is_ok()) continue;
    // To look at, an entry on a damaged page is one more damaged entry.
    if (!is_entry_damage(checked) && (repair_ || checked.code() != Code::corrupt)) return checked;
    found.damage.push_back({.table = "entries",
                            .row = id,
                            .key = facts.key == Digest() ? "" : facts.key.hex(),
                            .spec = facts.spec.substr(0, 1024),
                            .reason = checked.message()});
  }
  if (rows < kStep) found.is_last = true;
  return {};
}

Status Verifier::find_orphans(Connection& connection, Found& found) const {
  KILN_TRY_ASSIGN(Statement rows, connection.statement(kOrphans));
  rows.bind(1, next_row_);
  while (true) {
    KILN_TRY_ASSIGN(const bool has_row, rows.step());
    if (!has_row) break;
    const std::int64_t row = rows.integer(0);
    KILN_TRY(go_on_after(row, found));
    found.damage.push_back({.table = "images", .row = row, .reason = "no entry has this image"});
  }
  if (std::ssize(found.damage) < kStep) found.is_last = true;
  return {};
}

Status Verifier::go_on_after(std::int64_t row, Found& found) const {
  // A damaged page may give rows in any order, and so for ever.
  if (row < std::max(next_row_, found.next_row)) return sqlite_failure(nullptr, SQLITE_CORRUPT);
  found.is_last = row == std::numeric_limits<std::int64_t>::max();
  found.next_row = found.is_last ? row : row + 1;
  return {};
}

void Verifier::note_database_damage(const Status& reason) {
  std::string lines = reason.detail().empty() ? reason.message() : reason.detail();
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    if (end != 0) result_.database_errors.push_back(lines.substr(0, end));
    lines.erase(0, end == std::string::npos ? end : end + 1);
  }
}

}  // namespace kiln
