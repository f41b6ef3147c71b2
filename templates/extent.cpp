// SPDX-License-Identifier: Apache-2.0
#include "templates/extent.h"

#include "support/text.h"
#include "templates/json.h"
#include "templates/names.h"
#include "templates/parameter_value.h"

#include <limits>

namespace kiln {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

Status is_no_extent(std::string_view text) {
  return failure(Code::invalid_argument,
                 R"({} is no extent such as "rows", "2*columns" or "rows*columns/16")",
                 in_quotes(text));
}

}  // namespace

Extent::Extent(std::int64_t number)
    : sum_{{.factor = number, .names = {}}}, text_(fmt::format("{}", number)) {}

Result<Extent::Product> Extent::parse_product(std::string_view text) {
  Product product;
  for (const std::string_view factor : split(text, '*')) {
    if (const auto number = parse_integer(factor)) {
      if (*number < 0) return is_no_extent(text);
      product.factor = saturating_product(product.factor, *number);
    } else if (is_manifest_name(factor)) {
      product.names.emplace_back(factor);
    } else {
      return is_no_extent(text);
    }
  }
  return product;
}

Result<Extent> Extent::parse(std::string_view text) {
  Extent extent;
  extent.text_ = text;
  const std::vector<std::string_view> parts = split(text, '/');
  if (parts.size() > 2) return is_no_extent(text);
  if (parts.size() == 2) {
    const auto divisor = parse_integer(parts[1]);
    if (!divisor || *divisor < 1) return is_no_extent(text);
    extent.divisor_ = *divisor;
  }
  for (const std::string_view term : split(parts[0], '+')) {
    KILN_TRY_ASSIGN(extent.sum_.emplace_back(), parse_product(term));
  }
  return extent;
}

std::vector<std::string_view> Extent::names() const {
  std::vector<std::string_view> names;
  for (const Product& product : sum_)
    names.insert(names.end(), product.names.begin(), product.names.end());
  return names;
}

Result<std::int64_t> Extent::evaluate(const Lookup& lookup) const {
  std::int64_t sum = 0;
  for (const Product& product : sum_) {
    std::int64_t value = product.factor;
    for (const std::string& name : product.names) {
      KILN_TRY_ASSIGN(const std::int64_t factor, lookup(name));
      value = saturating_product(value, factor);
    }
    if (__builtin_add_overflow(sum, value, &sum)) return kLargest;
  }
  return divisor_ == 1 ? sum : sum / divisor_ + (sum % divisor_ > 0 ? 1 : 0);
}

Status decode(const nlohmann::json& json, Extent& extent) {
  if (!json.is_string()) {
    std::int64_t number = 0;
    KILN_TRY(decode(json, number));
    extent = number;
    return {};
  }
  std::string text;
  KILN_TRY(decode(json, text));
  KILN_TRY_ASSIGN(extent, Extent::parse(text));
  return {};
}

Status decode(const nlohmann::json& json, std::vector<Extent>& extents) {
  return for_each_element(json, [&](const nlohmann::json& element) {
    return decode(element, extents.emplace_back(std::int64_t{0}));
  });
}

std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kLargest : product;
}

}  // namespace kiln
