// SPDX-License-Identifier: Apache-2.0
// What leaves a store on request, and what must not.
#include "cache/prune_plan.h"
#include "cache/store_files.h"
#include "cache/store_impl.h"

#include <algorithm>

namespace kiln {
namespace {

constexpr std::chrono::milliseconds kPatienceForReaders{1000};

constexpr char kHasEntry[] = "SELECT 1 FROM entries WHERE key = ?1";
constexpr char kSetPinned[] =
    "INSERT INTO usage (key, pinned) VALUES (?1, ?2) "
    "ON CONFLICT (key) DO UPDATE SET pinned = excluded.pinned";

}  // namespace

Result<Store::Pruned> Store::prune(const PruneQuery& query, bool dry_run) {
  KILN_TRY(check_prune_query(query));
  if (!dry_run) KILN_TRY(impl_->check_writable());
  const std::int64_t now = unix_time();
  PrunePlan plan;
  PageUse before;
  Leftovers leftovers;
  std::int64_t quarantined = 0;
  {
    KILN_TRY_ASSIGN(const auto lock, impl_->guard.lock());
    if (!dry_run) KILN_TRY(impl_->flush(Database::kPatience));
    quarantined = quarantine_bytes(impl_->database.files());
    KILN_TRY(impl_->database.run(Database::Intent::read, [&](Connection& connection) -> Status {
      KILN_TRY_ASSIGN(before, page_use(connection));
      KILN_TRY_ASSIGN(leftovers, read_leftovers(connection, now));
      KILN_TRY_ASSIGN(plan.rows,
                      list_entries(connection, {.template_name = query.template_name,
                                                .target = query.target,
                                                .toolchain_prefix = query.toolchain_prefix}));
      return {};
    }));
    impl_->usage.add_to(plan.rows);
    make_prune_plan(query, before, quarantined, impl_->limit_bytes, now, plan);
    if (!dry_run && plan.drops_quarantine) {
      KILN_TRY(remove_quarantine(impl_->database.files()));
    }
  }
  const std::int64_t dropped = plan.drops_quarantine ? quarantined : 0;
  if (dry_run) return estimate(std::move(plan), before, dropped);

  Removal removal(plan.candidates(), query.include_pinned);
  PageUse use = before;
  bool is_done = false;
  while (!is_done) {
    KILN_TRY_ASSIGN(const auto lock, impl_->guard.lock());
    const std::int64_t last_file_bytes = use.file_bytes;
    const auto take_part = [&](Connection& connection) -> Status {
      KILN_TRY(removal.run(connection, plan.target_bytes));
      KILN_TRY(tidy(connection, leftovers, now));
      KILN_TRY(give_back_pages(connection));
      KILN_TRY_ASSIGN(use, page_use(connection));
      return {};
    };
    KILN_TRY(impl_->database.transact(take_part));
    removal.commit();
    leftovers = {};
    // A database whose setting somebody has changed gives no pages back.
    const bool may_shrink = use.file_bytes > use.used_bytes && use.file_bytes < last_file_bytes;
    is_done = !may_shrink && (removal.is_exhausted() || use.used_bytes <= plan.target_bytes);
  }
  KILN_TRY_ASSIGN(const auto lock, impl_->guard.lock());
  impl_->usage.count(Counter::pruned, std::ssize(removal.removed()));
  KILN_TRY(impl_->flush(Database::kPatience));
  KILN_TRY(impl_->empty_log(kPatienceForReaders));
  return Pruned{
      .entries = rows_of(std::move(plan.rows), removal.removed()),
      .freed_bytes = std::max<std::int64_t>(before.file_bytes - use.file_bytes, 0) + dropped};
}

Result<std::int64_t> Store::set_pinned(std::span<const Digest> keys, bool is_pinned) {
  KILN_TRY(impl_->check_writable());
  KILN_TRY_ASSIGN(const auto lock, impl_->guard.lock());
  std::int64_t count = 0;
  const auto set_all = [&](Connection& connection) -> Status {
    count = 0;
    for (const Digest& key : keys) {
      {
        KILN_TRY_ASSIGN(Statement entry, connection.statement(kHasEntry));
        KILN_TRY_ASSIGN(const bool has_row, entry.bind(1, key).step());
        if (!has_row) continue;
      }
      KILN_TRY_ASSIGN(Statement set, connection.statement(kSetPinned));
      KILN_TRY(set.bind(1, key).bind(2, std::int64_t{is_pinned}).run());
      ++count;
    }
    return {};
  };
  KILN_TRY(impl_->database.transact(set_all));
  return count;
}

}  // namespace kiln
