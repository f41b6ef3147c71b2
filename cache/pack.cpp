// SPDX-License-Identifier: Apache-2.0
#include "cache/pack.h"

#include "cache/entry_check.h"
#include "cache/entry_table.h"
#include "cache/pack_file.h"
#include "cache/sqlite_status.h"

#include <algorithm>
#include <utility>

namespace kiln {
namespace {

constexpr char kIds[] = "SELECT id FROM entries ORDER BY id";
constexpr char kSignature[] = "SELECT key_sha256, signature FROM signatures WHERE entry = ?1";
constexpr char kSigners[] =
    "SELECT id, key_sha256 FROM entries LEFT JOIN signatures ON entry = id ORDER BY id";
constexpr std::size_t kMostSigners = 16;

template <typename Bytes>
bool copy_exactly(std::string_view from, Bytes& to) {
  if (from.size() != to.size()) return false;
  std::copy(from.begin(), from.end(), to.begin());
  return true;
}

// Steps through rows that begin with an id.
class IdOrder {
 public:
  // A damaged page may give rows in any order, and so for ever.
  Status go_on(std::int64_t id) {
    if (!is_first_ && id <= last_) return sqlite_failure(nullptr, SQLITE_CORRUPT);
    is_first_ = false;
    last_ = id;
    return {};
  }

 private:
  std::int64_t last_ = 0;
  bool is_first_ = true;
};

}  // namespace

Pack::Pack(std::string path, std::unique_ptr<Connection> connection, const PackTrust& trust)
    : path_(std::move(path)), connection_(std::move(connection)), trust_(trust) {}

Pack::~Pack() = default;

Result<std::unique_ptr<Pack>> Pack::open(const std::string& path, const PackTrust& trust) {
  auto connection = open_pack_file(path, trust.others);
  if (!connection.is_ok()) {
    const Status& status = connection.status();
    const bool is_named = status.message().find(path) != std::string::npos;
    return is_named ? status : status.with_context(path);
  }
  return std::unique_ptr<Pack>(new Pack(path, *std::move(connection), trust));
}

Status Pack::check_signature(std::int64_t id, const Digest& entry_sha256) {
  if (trust_.keys.is_empty()) return {};
  KILN_TRY_ASSIGN(Statement row, connection_->statement(kSignature));
  KILN_TRY_ASSIGN(const bool has_row, row.bind(1, id).step());
  if (!has_row) return failure(Code::corrupt, "it is not signed");
  Signature signature;
  if (!copy_exactly(row.bytes(0), signature.key_sha256.bytes) ||
      !copy_exactly(row.bytes(1), signature.bytes)) {
    return failure(Code::corrupt, "its signature has not the size of one");
  }
  return trust_.keys.check(signature, entry_sha256);
}

Result<std::optional<Store::Found>> Pack::find(LookUp by,
                                               const Digest& digest,
                                               std::vector<Status>& refusals) {
  const auto check = [this](std::int64_t id, const EntryFacts& facts, const Digest& entry_sha256) {
    const Status checked = check_key(facts);
    return checked.is_ok() ? check_signature(id, entry_sha256) : checked;
  };
  Store::Found found;
  std::vector<DamagedEntry> damaged;
  KILN_TRY_ASSIGN(const bool is_found, find_entry(*connection_, by, digest, found, damaged, check));
  for (DamagedEntry& entry : damaged)
    refusals.push_back(std::move(entry.reason));
  if (!is_found) return std::optional<Store::Found>();
  return std::optional(std::move(found));
}

Status Pack::visit(const std::function<Status(const Entry&)>& each) {
  KILN_TRY_ASSIGN(Statement ids, connection_->statement(kIds));
  IdOrder order;
  while (true) {
    KILN_TRY_ASSIGN(const bool has_row, ids.step());
    if (!has_row) return {};
    Entry entry{.row = ids.integer(0)};
    KILN_TRY(order.go_on(entry.row));
    Status checked = check_entry(*connection_, entry.row, entry.stored, &entry.image);
    if (checked.is_ok()) checked = check_signature(entry.row, entry.stored.entry_sha256);
    // An entry on a damaged page is one more that is refused.
    if (!checked.is_ok() && checked.code() != Code::corrupt) return checked;
    if (!checked.is_ok()) entry.image.clear();
    entry.refusal = std::move(checked);
    KILN_TRY(each(entry));
  }
}

Result<Pack::Summary> Pack::summary() {
  KILN_TRY_ASSIGN(Statement rows, connection_->statement(kSigners));
  Summary summary;
  IdOrder order;
  while (true) {
    KILN_TRY_ASSIGN(const bool has_row, rows.step());
    if (!has_row) return summary;
    KILN_TRY(order.go_on(rows.integer(0)));
    ++summary.entries;
    Digest signer;
    const bool is_signed = copy_exactly(rows.bytes(1), signer.bytes);
    if (!is_signed) ++summary.unsigned_entries;
    if (!trust_.keys.is_empty() && !(is_signed && trust_.keys.contains(signer))) {
      ++summary.untrusted_entries;
    }
    auto& known = summary.signed_by;
    if (is_signed && known.size() < kMostSigners &&
        std::find(known.begin(), known.end(), signer) == known.end()) {
      known.push_back(signer);
    }
  }
}

Result<Store::Verification> Pack::verify() {
  Store::Verification verification;
  verification.exists = true;
  const Status visited = visit([&](const Entry& entry) {
    ++verification.entries;
    if (entry.refusal.is_ok()) return Status();
    ++verification.damaged_entries;
    ++verification.damaged_rows;
    if (verification.damage.size() == Store::Verification::kMostDamage) return Status();
    const EntryFacts& facts = entry.stored.facts;
    verification.damage.push_back({.table = "entries",
                                   .row = entry.row,
                                   .key = facts.key == Digest() ? "" : facts.key.hex(),
                                   .spec = facts.spec.substr(0, 1024),
                                   .reason = entry.refusal.message()});
    return Status();
  });
  if (visited.code() == Code::corrupt) {
    verification.database_errors.push_back(visited.message());
    return verification;
  }
  KILN_TRY(visited);
  return verification;
}

}  // namespace kiln
