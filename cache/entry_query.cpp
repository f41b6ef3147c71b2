// SPDX-License-Identifier: Apache-2.0
#include "cache/entry_query.h"

#include <algorithm>
#include <utility>

namespace kiln {
namespace {

constexpr std::int64_t kMostOneByOne = 1000;

bool comes_before(EntryOrder order, const EntryRow& left, const EntryRow& right) {
  switch (order) {
    case EntryOrder::last_used:
      return left.last_used_at > right.last_used_at;
    case EntryOrder::created:
      return left.facts.created_at > right.facts.created_at;
    case EntryOrder::image_bytes:
      return left.facts.image_bytes > right.facts.image_bytes;
    case EntryOrder::compile_us:
      return left.facts.compile_us > right.facts.compile_us;
    case EntryOrder::hits:
      return left.hits > right.hits;
    case EntryOrder::registers:
      return left.facts.resources.registers > right.facts.resources.registers;
    case EntryOrder::spec:
      return left.facts.spec < right.facts.spec;
  }
  return false;
}

}  // namespace

bool is_key_prefix(std::string_view text) {
  return !text.empty() && text.size() <= 2 * Digest::kBytes &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

Status check_query(const EntryQuery& query) {
  const std::string prefix = query.key_prefix.value_or("");
  if (!prefix.empty() && !is_key_prefix(prefix)) {
    return failure(Code::invalid_argument, "key prefix \"{}\" is not up to 64 hexadecimal digits",
                   prefix);
  }
  if (query.limit.value_or(0) < 0) {
    return failure(Code::invalid_argument, "limit is {}; it must not be negative", *query.limit);
  }
  return {};
}

bool matches(const EntryQuery& query, const EntryFacts& facts) {
  if (query.template_name && facts.template_name != *query.template_name) return false;
  if (query.target && facts.target != *query.target) return false;
  if (query.toolchain_prefix && !facts.toolchain.starts_with(*query.toolchain_prefix)) return false;
  if (!query.key_prefix) return true;
  const std::string key = facts.key.hex();
  return query.key_prefix->size() <= key.size() &&
         std::equal(query.key_prefix->begin(), query.key_prefix->end(), key.begin(),
                    [](char wanted, char digit) {
                      return (wanted >= 'A' && wanted <= 'F' ? wanted - 'A' + 'a' : wanted) ==
                             digit;
                    });
}

bool is_for_last_used(const EntryQuery& query) {
  const bool narrows =
      query.template_name || query.target || query.toolchain_prefix || query.key_prefix;
  return !narrows && query.order == EntryOrder::last_used && query.limit &&
         *query.limit <= kMostOneByOne;
}

void sort_entries(const EntryQuery& query, std::vector<EntryRow>& rows) {
  std::sort(rows.begin(), rows.end(), [&](const EntryRow& left, const EntryRow& right) {
    if (comes_before(query.order, left, right)) return true;
    if (comes_before(query.order, right, left)) return false;
    return left.facts.key < right.facts.key;
  });
  if (query.limit && std::cmp_less(*query.limit, rows.size())) {
    rows.erase(rows.begin() + *query.limit, rows.end());
  }
}

}  // namespace kiln
