// SPDX-License-Identifier: Apache-2.0
#include "support/text.h"
#include "templates/extent.h"
#include "templates/named_values.h"
#include "templates/parameter_value.h"
#include "templates/variant.h"

#include <algorithm>
#include <limits>

namespace kiln {
namespace {

using Tuning = std::vector<std::pair<std::string, std::int64_t>>;

Status check_target(const Variant& variant, ComputeCapability capability) {
  for (const TargetRule& rule : variant.manifest().least_target) {
    if (capability >= rule.least || !rule.when.holds(variant.parameters(), capability)) continue;
    return failure(
        Code::unsupported, "{} needs sm_{}{} or newer ({}); the target has compute capability {}",
        variant.spec(), rule.least.major, rule.least.minor, rule.reason, capability.text());
  }
  return {};
}

Tuning resolve_tuning(const Variant& variant, ComputeCapability capability) {
  Tuning tuning;
  for (const TuningRule& rule : variant.manifest().tuning) {
    if (!rule.when.holds(variant.parameters(), capability)) continue;
    for (const auto& [name, value] : rule.values) {
      if (find_value(tuning, name) == nullptr) tuning.emplace_back(name, value);
    }
  }
  std::sort(tuning.begin(), tuning.end());
  return tuning;
}

Status unset(const Variant& variant, std::string_view name) {
  return failure(Code::invalid_argument, "template \"{}\" gives no value for {} in {}",
                 variant.manifest().name, in_quotes(name), variant.spec());
}

// A tuning value or an integer parameter.
Result<std::int64_t> value_of(const Variant& variant, const Tuning& tuning, std::string_view name) {
  if (const std::int64_t* value = find_value(tuning, name)) return *value;
  if (const std::string* value = find_value(variant.parameters(), name)) {
    if (const auto number = parse_integer(*value)) return *number;
  }
  return unset(variant, name);
}

Result<std::int64_t> count_of(const Variant& variant, const Tuning& tuning, const Extent& extent) {
  return extent.evaluate([&](std::string_view name) { return value_of(variant, tuning, name); });
}

Result<std::string> name_expression(const Variant& variant, const Tuning& tuning) {
  const Manifest& manifest = variant.manifest();
  std::vector<std::string> arguments;
  for (const std::string& name : manifest.instantiation) {
    if (const Parameter* parameter = manifest.find_parameter(name)) {
      const std::string* value = find_value(variant.parameters(), name);
      if (value == nullptr) return unset(variant, name);
      arguments.push_back(cpp_spelling(*parameter, *value));
    } else if (const std::int64_t* value = find_value(tuning, name)) {
      arguments.push_back(fmt::format("{}", *value));
    } else {
      return unset(variant, name);
    }
  }
  if (arguments.empty()) return manifest.entry;
  return fmt::format("{}<{}>", manifest.entry, joined(arguments, ", "));
}

Result<std::int64_t> multiple_of(const Variant& variant, const KernelArgument& argument) {
  switch (argument.kind) {
    case ArgumentKind::pointer: {
      KILN_TRY_ASSIGN(const std::int64_t elements, count_of(variant, {}, argument.vector));
      return saturating_product(elements, dtype_bytes(dtype_of(variant, argument)));
    }
    case ArgumentKind::int32:
    case ArgumentKind::int64:
      return count_of(variant, {}, argument.multiple_of);
    case ArgumentKind::float32:
      break;
  }
  return 1;
}

Status check_argument(const KernelArgument& argument, std::int64_t value) {
  const bool is_int32 = argument.kind == ArgumentKind::int32;
  const std::int64_t most = is_int32 ? std::numeric_limits<std::int32_t>::max()
                                     : std::numeric_limits<std::int64_t>::max();
  const std::int64_t least = is_int32 ? std::numeric_limits<std::int32_t>::min()
                                      : std::numeric_limits<std::int64_t>::min();
  if (value > most || value < argument.min.value_or(least)) {
    return failure(Code::invalid_argument, "argument \"{}\" is {}; allowed: {} to {}",
                   argument.name, value, argument.min.value_or(least), most);
  }
  return {};
}

Status check_arguments(const Variant& variant, const IntegerArguments& arguments) {
  const Manifest& manifest = variant.manifest();
  for (auto entry = arguments.begin(); entry != arguments.end(); ++entry) {
    const auto known = std::find_if(
        manifest.arguments.begin(), manifest.arguments.end(), [&](const auto& argument) {
          return argument.name == entry->first &&
                 (argument.kind == ArgumentKind::int32 || argument.kind == ArgumentKind::int64);
        });
    if (known == manifest.arguments.end()) {
      return failure(Code::invalid_argument, "template \"{}\" has no integer argument {}",
                     manifest.name, in_quotes(entry->first));
    }
    if (std::any_of(arguments.begin(), entry,
                    [&](const auto& other) { return other.first == entry->first; })) {
      return failure(Code::invalid_argument, "argument \"{}\" is given twice", entry->first);
    }
    const bool is_used = known->used_when.holds(variant.parameters());
    if (is_used || entry->second != 0) KILN_TRY(check_argument(*known, entry->second));
  }
  return {};
}

struct Counts {
  const Variant& variant;
  const Tuning& tuning;

  Result<std::int64_t> positive(const Extent& extent) const {
    KILN_TRY_ASSIGN(const std::int64_t value, count_of(variant, tuning, extent));
    if (value >= 1) return value;
    return failure(Code::invalid_argument, "{} is {} in template \"{}\"; allowed: 1 or more",
                   in_quotes(extent.text()), value, variant.manifest().name);
  }
};

constexpr std::int64_t kMaxBlock = 1024;

std::string described(const Extent& over) {
  return fmt::format("{} \"{}\"", over.names().size() == 1 ? "argument" : "the product or sum",
                     over.text());
}

Result<std::int64_t> grid_size(const Counts& counts,
                               const GridRule& rule,
                               const IntegerArguments& arguments,
                               int sm_count,
                               std::int64_t limit) {
  KILN_TRY_ASSIGN(const std::int64_t over,
                  rule.over.evaluate([&](std::string_view name) -> Result<std::int64_t> {
                    if (const std::int64_t* value = find_value(arguments, name)) return *value;
                    return failure(Code::invalid_argument, "argument \"{}\" must be given", name);
                  }));
  if (over < 1) {
    return failure(Code::invalid_argument, "{} is {}; allowed: 1 or more", described(rule.over),
                   over);
  }
  KILN_TRY_ASSIGN(const std::int64_t per_block, counts.positive(rule.per_block));
  std::int64_t blocks = (over - 1) / per_block + 1;
  if (rule.blocks_per_sm) {
    KILN_TRY_ASSIGN(const std::int64_t per_sm, counts.positive(*rule.blocks_per_sm));
    blocks = std::min(blocks, saturating_product(per_sm, sm_count));
  }
  if (rule.max > 0) blocks = std::min(blocks, rule.max);
  if (blocks <= limit) return blocks;
  // A kernel without a stated maximum need not loop, so fewer blocks would leave work undone.
  return failure(Code::invalid_argument, "{} is {}; allowed: at most {}", described(rule.over),
                 over, saturating_product(limit, per_block));
}

}  // namespace

Result<Specialization> specialize(const Variant& variant, ComputeCapability capability) {
  KILN_TRY(check_target(variant, capability));
  Specialization specialization;
  specialization.tuning = resolve_tuning(variant, capability);
  KILN_TRY_ASSIGN(specialization.name_expression, name_expression(variant, specialization.tuning));
  for (const KernelArgument& argument : variant.manifest().arguments) {
    KILN_TRY_ASSIGN(specialization.multiple_of.emplace_back(), multiple_of(variant, argument));
    specialization.is_used.push_back(argument.used_when.holds(variant.parameters(), capability));
  }
  return specialization;
}

bool may_spill(const Variant& variant) {
  const std::optional<Condition>& spills = variant.manifest().spills;
  return spills && spills->holds(variant.parameters());
}

std::string_view dtype_of(const Variant& variant, const KernelArgument& argument) {
  for (const DtypeRule& rule : argument.dtype) {
    if (!rule.when.holds(variant.parameters())) continue;
    const std::string* chosen = find_value(variant.parameters(), rule.dtype);
    return chosen == nullptr ? rule.dtype : *chosen;
  }
  return {};
}

Result<LaunchShape> launch_shape(const Variant& variant,
                                 const Specialization& specialization,
                                 const IntegerArguments& arguments,
                                 int sm_count) {
  if (sm_count < 1) {
    return failure(Code::invalid_argument, "the number of SMs is {}; allowed: 1 or more", sm_count);
  }
  const LaunchRule& rule = variant.manifest().launch;
  const Counts counts{variant, specialization.tuning};
  KILN_TRY(check_arguments(variant, arguments));
  LaunchShape shape;
  KILN_TRY_ASSIGN(shape.block, counts.positive(rule.block));
  if (shape.block > kMaxBlock) {
    return failure(Code::invalid_argument, "{} is {} in template \"{}\"; allowed: 1 to {}",
                   in_quotes(rule.block.text()), shape.block, variant.manifest().name, kMaxBlock);
  }
  for (std::size_t i = 0; i < rule.grid.size() && i < kMaxGrid.size(); ++i) {
    KILN_TRY_ASSIGN(shape.grid[i],
                    grid_size(counts, rule.grid[i], arguments, sm_count, kMaxGrid.at(i)));
  }
  KILN_TRY_ASSIGN(shape.shared_bytes, count_of(variant, specialization.tuning, rule.shared_bytes));
  if (shape.shared_bytes >= 0) return shape;
  return failure(Code::invalid_argument,
                 "shared_bytes is {} in template \"{}\"; allowed: 0 or more", shape.shared_bytes,
                 variant.manifest().name);
}

}  // namespace kiln
