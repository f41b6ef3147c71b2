// SPDX-License-Identifier: Apache-2.0
#include "templates/tensor.h"

#include "support/text.h"
#include "templates/named_values.h"
#include "templates/parameter_value.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace kiln {
namespace {

bool is_integer(const KernelArgument& argument) {
  return argument.kind == ArgumentKind::int32 || argument.kind == ArgumentKind::int64;
}

bool is_used(const Variant& variant, const KernelArgument& argument) {
  return argument.used_when.holds(variant.parameters());
}

// An integer argument or parameter.
Result<std::int64_t> value_of(const Variant& variant,
                              const IntegerArguments& arguments,
                              std::string_view name) {
  if (const std::int64_t* value = find_value(arguments, name)) return *value;
  if (const std::string* value = find_value(variant.parameters(), name)) {
    if (const auto number = parse_integer(*value)) return *number;
  }
  return failure(Code::invalid_argument, "argument \"{}\" must be given", name);
}

Result<std::vector<std::int64_t>> evaluate(const Variant& variant,
                                           const IntegerArguments& arguments,
                                           const std::vector<Extent>& extents) {
  std::vector<std::int64_t> values;
  for (const Extent& extent : extents) {
    KILN_TRY_ASSIGN(values.emplace_back(), extent.evaluate([&](std::string_view name) {
      return value_of(variant, arguments, name);
    }));
  }
  return values;
}

// The dimensions of a pointer argument in this variant; empty if they are not stated.
std::vector<Extent> extents_of(const Variant& variant, const KernelArgument& argument) {
  for (const ShapeRule& rule : argument.shape) {
    if (rule.when.holds(variant.parameters())) return rule.extents;
  }
  return {};
}

class Completion {
 public:
  Completion(const Variant& variant, IntegerArguments given)
      : variant_(variant), manifest_(variant.manifest()), known_(std::move(given)) {}

  Result<IntegerArguments> run() {
    for (const auto& entry : known_) {
      const auto declared =
          std::find_if(manifest_.arguments.begin(), manifest_.arguments.end(),
                       [&](const auto& a) { return a.name == entry.first && is_integer(a); });
      if (declared == manifest_.arguments.end()) {
        return failure(Code::invalid_argument, "template \"{}\" has no integer argument {}",
                       manifest_.name, in_quotes(entry.first));
      }
    }
    add_unused_and_examples();
    for (const KernelArgument& argument : manifest_.arguments) {
      if (argument.kind != ArgumentKind::pointer || !is_used(variant_, argument)) continue;
      KILN_TRY(add_strides(argument).with_context("argument " + in_quotes(argument.name)));
    }
    IntegerArguments complete;
    for (const KernelArgument& argument : manifest_.arguments) {
      if (!is_integer(argument)) continue;
      KILN_TRY_ASSIGN(const std::int64_t value, value_of(variant_, known_, argument.name));
      complete.emplace_back(argument.name, value);
    }
    return complete;
  }

 private:
  void add_unused_and_examples() {
    for (const KernelArgument& argument : manifest_.arguments) {
      if (!is_integer(argument) || find_value(known_, argument.name) != nullptr) continue;
      if (!is_used(variant_, argument)) {
        known_.emplace_back(argument.name, 0);
      } else if (argument.example) {
        known_.emplace_back(argument.name, *argument.example);
      }
    }
  }

  // From the innermost dimension outwards: each as if nothing lay between its elements.
  Status add_strides(const KernelArgument& argument) {
    KILN_TRY_ASSIGN(const auto shape, evaluate(variant_, known_, extents_of(variant_, argument)));
    std::int64_t dense = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (i < argument.strides.size()) {
        const Extent& stride = argument.strides[i];
        const std::vector<std::string_view> names = stride.names();
        if (names.size() == 1 && find_value(known_, names[0]) == nullptr) {
          known_.emplace_back(names[0], saturating_product(dense, stride.divisor()));
        }
        KILN_TRY_ASSIGN(dense, stride.evaluate([&](std::string_view name) {
          return value_of(variant_, known_, name);
        }));
      }
      dense = saturating_product(dense, shape[i]);
    }
    return {};
  }

  const Variant& variant_;
  const Manifest& manifest_;
  IntegerArguments known_;
};

Result<TensorLayout> tensor_layout(const Variant& variant,
                                   const IntegerArguments& arguments,
                                   const KernelArgument& argument) {
  if (argument.shape.empty()) {
    return failure(Code::unsupported, R"(template "{}" does not say the shape of argument "{}")",
                   variant.manifest().name, argument.name);
  }
  TensorLayout layout{.name = argument.name,
                      .dtype = dtype_of(variant, argument),
                      .is_output = argument.is_output,
                      .is_positive = argument.is_positive,
                      .in_place_of = argument.in_place_of,
                      .shape = {},
                      .strides = {}};
  layout.element_bytes = dtype_bytes(layout.dtype);
  KILN_TRY_ASSIGN(layout.shape, evaluate(variant, arguments, extents_of(variant, argument)));
  KILN_TRY_ASSIGN(layout.strides, evaluate(variant, arguments, argument.strides));
  const std::size_t given = layout.strides.size();
  layout.strides.resize(layout.shape.size(), 1);
  for (std::size_t i = layout.shape.size() - 1; i-- > given;) {
    layout.strides[i] = saturating_product(layout.strides[i + 1], layout.shape[i + 1]);
  }
  return layout;
}

// Bytes that lie together, repeated at multiples of the period.
struct Runs {
  std::int64_t bytes;
  std::int64_t period;  // 0: only one
};

Runs runs_of(const TensorLayout& layout) {
  std::int64_t run = 1;
  std::int64_t period = 0;
  for (std::size_t i = layout.shape.size(); i-- > 0;) {
    if (layout.shape[i] == 1) continue;
    if (period == 0 && layout.strides[i] == run) {
      run = saturating_product(run, layout.shape[i]);
    } else {
      period = std::gcd(period, layout.strides[i]);
    }
  }
  return {saturating_product(run, layout.element_bytes),
          saturating_product(period, layout.element_bytes)};
}

}  // namespace

std::int64_t TensorLayout::element_count() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape)
    count = saturating_product(count, extent);
  return count;
}

std::int64_t TensorLayout::span() const {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
    const std::int64_t step = saturating_product(shape[i] - 1, strides[i]);
    if (__builtin_add_overflow(last, step, &last)) return step;
  }
  return last + 1;
}

bool may_overlap(const TensorLayout& a,
                 std::uint64_t a_address,
                 const TensorLayout& b,
                 std::uint64_t b_address) {
  if (b_address < a_address) return may_overlap(b, b_address, a, a_address);
  const auto distance = static_cast<std::int64_t>(b_address - a_address);
  if (distance >= saturating_product(a.span(), a.element_bytes)) return false;
  const Runs a_runs = runs_of(a);
  const Runs b_runs = runs_of(b);
  const std::int64_t period = std::gcd(a_runs.period, b_runs.period);
  if (period == 0) return true;
  const std::int64_t place = distance % period;
  return place < a_runs.bytes || b_runs.bytes > period - place;
}

Result<IntegerArguments> complete_arguments(const Variant& variant, const IntegerArguments& given) {
  return Completion(variant, given).run();
}

Result<std::vector<TensorLayout>> tensor_layouts(const Variant& variant,
                                                 const IntegerArguments& arguments) {
  std::vector<TensorLayout> layouts;
  for (const KernelArgument& argument : variant.manifest().arguments) {
    if (argument.kind != ArgumentKind::pointer || !is_used(variant, argument)) continue;
    KILN_TRY_ASSIGN(layouts.emplace_back(), tensor_layout(variant, arguments, argument));
  }
  return layouts;
}

}  // namespace kiln
