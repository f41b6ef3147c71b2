// SPDX-License-Identifier: Apache-2.0
#pragma once

// A count as manifests state it: a number, or a text such as "rows", "2*mlp_width" or
// "batches*rows/128": sums of products of numbers and names, of which a last "/n" divides the whole
// and rounds up.

#include "support/status.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

class Extent {
 public:
  // Not explicit: most counts are numbers.
  Extent(std::int64_t number);
  // invalid_argument: what is wrong in it.
  static Result<Extent> parse(std::string_view text);

  const std::string& text() const { return text_; }
  // Every name in it, as often as it stands there.
  std::vector<std::string_view> names() const;
  bool is_number() const { return names().empty(); }
  std::int64_t divisor() const { return divisor_; }

  using Lookup = std::function<Result<std::int64_t>(std::string_view name)>;
  // What `lookup` fails with. Saturates at the largest 64-bit integer.
  Result<std::int64_t> evaluate(const Lookup& lookup) const;

  bool operator==(const Extent& other) const { return text_ == other.text_; }

 private:
  struct Product {
    std::int64_t factor = 1;
    std::vector<std::string> names;
  };
  Extent() = default;
  static Result<Product> parse_product(std::string_view text);

  std::vector<Product> sum_;
  std::int64_t divisor_ = 1;
  std::string text_;
};

Status decode(const nlohmann::json& json, Extent& extent);
Status decode(const nlohmann::json& json, std::vector<Extent>& extents);

// Of two numbers that are not negative; the largest 64-bit integer where it does not fit.
std::int64_t saturating_product(std::int64_t a, std::int64_t b);

}  // namespace kiln
