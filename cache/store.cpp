// SPDX-License-Identifier: Apache-2.0
#include "cache/store.h"

#include "cache/entry_check.h"
#include "cache/store_impl.h"
#include "cache/toolchain_table.h"
#include "support/log.h"

#include <array>
#include <utility>

namespace kiln {
namespace {

std::array<const std::string*, 8> texts_of(const EntryFacts& facts) {
  return {&facts.template_name, &facts.spec,   &facts.target,     &facts.toolchain,
          &facts.lowered_name,  &facts.layout, &facts.key_fields, &facts.log};
}

Status check_facts(const EntryFacts& facts, std::string_view image) {
  if (std::cmp_not_equal(facts.image_bytes, image.size())) {
    return failure(Code::invalid_argument, "image has {} bytes; its facts say {}", image.size(),
                   facts.image_bytes);
  }
  for (const std::string* text : texts_of(facts)) {
    if (text->size() > kLongestFact) {
      return failure(Code::invalid_argument, "a fact has {} bytes; at most {} can be stored",
                     text->size(), kLongestFact);
    }
  }
  return {};
}

}  // namespace

std::int64_t unix_time() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

Store::Impl::FindResult Store::Impl::find(LookUp by, const Digest& digest, bool* recovered) {
  if (recovered != nullptr) *recovered = false;
  const std::int64_t quarantined = database.quarantined();
  Found found;
  bool is_found = false;
  std::vector<DamagedEntry> damaged;
  KILN_TRY(database.run(Database::Intent::read, [&](Connection& connection) -> Status {
    damaged.clear();
    KILN_TRY_ASSIGN(is_found, find_entry(connection, by, digest, found, damaged));
    return {};
  }));
  if (mode == StoreMode::inspect) return is_found ? FindResult(std::move(found)) : std::nullopt;
  if (!damaged.empty()) {
    // Somebody may have replaced it since: look again where nobody can.
    const Status dropped = drop_damaged(by, digest, found, is_found);
    if (!dropped.is_ok()) note_damage(dropped.message());
  }
  if (is_found) usage.note_hit(found.facts.key, unix_time());
  const std::int64_t lost = std::ssize(damaged) + database.quarantined() - quarantined;
  if (lost > 0) {
    usage.count(Counter::recovered, lost);
    if (recovered != nullptr) *recovered = !is_found;
  }
  flush_if_due();
  return is_found ? FindResult(std::move(found)) : std::nullopt;
}

Status Store::Impl::drop_damaged(LookUp by, const Digest& digest, Found& found, bool& is_found) {
  std::vector<DamagedEntry> damaged;
  KILN_TRY(database.transact([&](Connection& connection) -> Status {
    damaged.clear();
    KILN_TRY_ASSIGN(is_found, find_entry(connection, by, digest, found, damaged));
    for (const DamagedEntry& entry : damaged) {
      if (Status deleted = delete_entry(connection, entry.id); !deleted.is_ok()) return deleted;
    }
    return {};
  }));
  if (!damaged.empty()) note_damage(fmt::format("{} dropped for {}", damaged.size(), digest.hex()));
  return {};
}

void Store::Impl::note_damage(std::string_view what) {
  log(has_warned ? LogLevel::debug : LogLevel::warning, "{}: damaged entries: {}",
      database.files().database, what);
  has_warned = true;
}

Status Store::Impl::flush(std::chrono::milliseconds patience) {
  usage.note_attempt(Usage::Clock::now());
  if (usage.is_empty() || mode == StoreMode::inspect) return {};
  KILN_TRY(
      database.transact([&](Connection& connection) { return usage.write(connection); }, patience));
  usage.clear();
  return {};
}

Status Store::Impl::check_writable() const {
  if (mode == StoreMode::read_write) return {};
  return failure(Code::invalid_argument, "the store was opened to inspect it");
}

void Store::Impl::flush_if_due() {
  if (!usage.is_due(Usage::Clock::now())) return;
  // Not worth a wait: the next attempt is a minute away.
  if (const Status status = flush(std::chrono::milliseconds(0)); !status.is_ok()) {
    log(LogLevel::info, "{}: hits not written: {}", database.files().database, status.message());
  }
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Store>> Store::open(const std::string& directory,
                                           StoreMode mode,
                                           std::int64_t limit_bytes) {
  auto impl = std::make_unique<Impl>(directory, mode, limit_bytes);
  {
    KILN_TRY_ASSIGN(const auto lock, impl->guard.lock());
    KILN_TRY(impl->database.run(Database::Intent::read, [](Connection&) { return Status(); }));
  }
  return std::unique_ptr<Store>(new Store(std::move(impl)));
}

Store::~Store() {
  auto lock = impl_->guard.lock();
  if (!lock.is_ok()) {
    // Its lock may be held for ever, and its connection must not be closed.
    [[maybe_unused]] const Impl* leaked = impl_.release();
    return;
  }
  if (const Status status = impl_->flush(std::chrono::milliseconds(1000)); !status.is_ok()) {
    log(LogLevel::info, "{}: hits not written: {}", impl_->database.files().database,
        status.message());
  }
}

Result<std::optional<Store::Found>> Store::find(const Digest& key, bool* recovered) {
  KILN_TRY_ASSIGN(const auto lock, impl_->guard.lock());
  return impl_->find(LookUp::key, key, recovered);
}

Result<std::optional<Store::Found>> Store::find_request(const Digest& request, bool* recovered) {
  KILN_TRY_ASSIGN(const auto lock, impl_->guard.lock());
  return impl_->find(LookUp::request, request, recovered);
}

Status Store::put(const EntryFacts& facts, std::string_view image) {
  KILN_TRY(impl_->check_writable());
  KILN_TRY(check_facts(facts, image));
  KILN_TRY_ASSIGN(const std::string stored, compress_image(image));
  const Digest digest = entry_digest(facts, stored);
  std::int64_t entry_bytes = std::ssize(stored);
  for (const std::string* text : texts_of(facts))
    entry_bytes += std::ssize(*text);
  Eviction eviction(impl_->limit_bytes, facts.key);
  {
    KILN_TRY_ASSIGN(const auto lock, impl_->guard.lock());
    KILN_TRY(impl_->make_room(eviction, entry_bytes));
    const auto insert = [&](Connection& connection) -> Status {
      KILN_TRY(insert_entry(connection, facts, digest, stored));
      return eviction.run(connection);
    };
    KILN_TRY(impl_->database.transact(insert));
    eviction.commit();
    impl_->flush_if_due();
  }
  // Others get their turn between the parts. The entry is stored, whatever becomes of them.
  for (int round = 0; round < Eviction::kMostRounds && !eviction.is_done(); ++round) {
    KILN_TRY_ASSIGN(const auto lock, impl_->guard.lock());
    if (const Status status = impl_->evict_more(eviction); !status.is_ok()) {
      log(LogLevel::info, "{}: eviction: {}", impl_->database.files().database, status.message());
      break;
    }
  }
  KILN_TRY_ASSIGN(const auto lock, impl_->guard.lock());
  impl_->usage.count(Counter::evicted, eviction.evicted());
  impl_->settle();
  return {};
}

Result<std::optional<StoredEntry>> Store::read(const Digest& key) {
  KILN_TRY_ASSIGN(const auto lock, impl_->guard.lock());
  std::optional<StoredEntry> entry;
  KILN_TRY(impl_->database.run(Database::Intent::read, [&](Connection& connection) -> Status {
    KILN_TRY_ASSIGN(const Transaction transaction, Transaction::begin_read(connection));
    entry.reset();
    KILN_TRY_ASSIGN(const auto id, find_entry_id(connection, key));
    if (!id) return {};
    entry.emplace();
    Status checked = check_entry(connection, *id, *entry);
    if (!checked.is_ok()) entry.reset();
    return is_entry_damage(checked) ? Status() : checked;
  }));
  return entry;
}

void Store::count(Counter counter, std::int64_t amount) {
  const auto lock = impl_->guard.lock();
  if (lock.is_ok()) impl_->usage.count(counter, amount);
}

Status Store::flush() {
  KILN_TRY_ASSIGN(const auto lock, impl_->guard.lock());
  return impl_->flush(Database::kPatience);
}

Result<std::vector<ToolchainMemo>> Store::toolchain_memos() {
  KILN_TRY_ASSIGN(const auto lock, impl_->guard.lock());
  std::vector<ToolchainMemo> memos;
  KILN_TRY(impl_->database.run(Database::Intent::read, [&](Connection& connection) -> Status {
    KILN_TRY_ASSIGN(memos, read_toolchains(connection));
    return {};
  }));
  return memos;
}

Status Store::put_toolchain_memo(const ToolchainMemo& memo) {
  KILN_TRY(impl_->check_writable());
  KILN_TRY_ASSIGN(const auto lock, impl_->guard.lock());
  return impl_->database.transact(
      [&](Connection& connection) { return write_toolchain(connection, memo); });
}

}  // namespace kiln
