// SPDX-License-Identifier: Apache-2.0
#include "templates/manifest_check.h"

#include "support/text.h"
#include "templates/names.h"
#include "templates/parameter_check.h"
#include "templates/parameter_value.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>

namespace kiln {
namespace {

template <typename... Args>
Status wrong(fmt::format_string<Args...> format, Args&&... args) {
  return failure(Code::invalid_argument, format, std::forward<Args>(args)...);
}

class Checker {
 public:
  explicit Checker(const Manifest& manifest) : manifest_(manifest) {}

  Status run() {
    KILN_TRY(check_header());
    KILN_TRY(check_parameters(manifest_.parameters));
    KILN_TRY(check_rules());
    KILN_TRY(check_tuning());
    KILN_TRY(check_arguments());
    KILN_TRY(check_instantiation());
    KILN_TRY(check_launch().with_context("launch"));
    return check_tuning_use();
  }

 private:
  Status check_header() const {
    if (!is_manifest_name(manifest_.name)) {
      return wrong("name {} must be a lower-case letter and up to 63 of a-z, 0-9 and _",
                   in_quotes(manifest_.name));
    }
    if (!is_include_name(manifest_.source)) {
      return wrong("source {} must be the name of a file beside or below the manifest",
                   in_quotes(manifest_.source));
    }
    if (!is_qualified_name(manifest_.entry)) {
      return wrong("entry {} is no qualified C++ name", in_quotes(manifest_.entry));
    }
    return {};
  }

  Status check_rules() const {
    for (const Constraint& rule : manifest_.constraints) {
      KILN_TRY(check(rule.when, "constraints: when"));
      KILN_TRY(check(rule.require, "constraints: require"));
      if (rule.require.terms.empty()) return wrong("constraints: require: asks for nothing");
    }
    for (const TargetRule& rule : manifest_.least_target) {
      KILN_TRY(check(rule.when, "least_target: when"));
    }
    if (manifest_.spills) KILN_TRY(check(*manifest_.spills, "allow_spills"));
    return {};
  }

  Status check_tuning() {
    for (const TuningRule& rule : manifest_.tuning) {
      KILN_TRY(check_condition(rule.when, manifest_.parameters, TargetTerms::allowed)
                   .with_context("tuning: when"));
      std::set<std::string_view> taken;
      for (const auto& [name, value] : rule.values) {
        const Status status = check_name(name, taken);
        if (!status.is_ok()) return status.with_context("tuning name " + in_quotes(name));
        if (manifest_.find_parameter(name) != nullptr) {
          return wrong("tuning name \"{}\" is a parameter's name", name);
        }
      }
      tuning_names_.insert(taken.begin(), taken.end());
      if (rule.when.terms.empty()) always_set_.insert(taken.begin(), taken.end());
    }
    return {};
  }

  Status check_arguments() {
    std::set<std::string_view> taken;
    for (const KernelArgument& argument : manifest_.arguments) {
      Status status = check_name(argument.name, taken);
      if (status.is_ok()) status = check_argument(argument);
      if (!status.is_ok()) return status.with_context("argument " + in_quotes(argument.name));
    }
    return {};
  }

  Status check_argument(const KernelArgument& argument) {
    KILN_TRY(check(argument.used_when, "used_when"));
    if (argument.kind == ArgumentKind::pointer) KILN_TRY(check_pointer(argument));
    KILN_TRY(check_count("vector", argument.vector, 1, Tuning::refused));
    return check_count("multiple_of", argument.multiple_of, 1, Tuning::refused);
  }

  Status check_pointer(const KernelArgument& argument) {
    for (const DtypeRule& rule : argument.dtype) {
      KILN_TRY(check(rule.when, "dtype: when"));
      KILN_TRY(check_dtype(rule.dtype));
    }
    if (argument.dtype.empty() || !argument.dtype.back().when.terms.empty()) {
      return wrong("dtype: the last rule must be without condition");
    }
    for (const ShapeRule& rule : argument.shape) {
      KILN_TRY(check(rule.when, "shape: when"));
      KILN_TRY(check_shape("shape", rule.extents));
      if (argument.strides.size() > rule.extents.size()) {
        return wrong("strides: {} of {} dimensions", argument.strides.size(), rule.extents.size());
      }
    }
    if (!argument.shape.empty() && !argument.shape.back().when.terms.empty()) {
      return wrong("shape: the last rule must be without condition");
    }
    KILN_TRY(check_in_place(argument));
    return check_shape("strides", argument.strides);
  }

  Status check_in_place(const KernelArgument& argument) const {
    if (argument.in_place_of.empty()) return {};
    const auto& all = manifest_.arguments;
    const bool is_input = std::any_of(all.begin(), all.end(), [&](const auto& other) {
      return other.name == argument.in_place_of && other.kind == ArgumentKind::pointer &&
             !other.is_output;
    });
    if (is_input && argument.is_output) return {};
    return wrong("in_place_of: \"{}\"; allowed: of an output, the name of an input pointer",
                 argument.in_place_of);
  }

  // A dtype, or a choice of dtypes.
  Status check_dtype(const std::string& dtype) const {
    if (dtype_bytes(dtype) != 0) return {};
    const Parameter* parameter = manifest_.find_parameter(dtype);
    const bool is_choice = parameter != nullptr && parameter->type == ParameterType::choice &&
                           std::all_of(parameter->values.begin(), parameter->values.end(),
                                       [](const auto& value) { return dtype_bytes(value) != 0; });
    if (is_choice) return {};
    return wrong(
        "dtype is {}; allowed: bf16, f16, f32, e4m3, e5m2, u8, i32, i64, or a choice of "
        "these",
        in_quotes(dtype));
  }

  Status check_shape(std::string_view what, const std::vector<Extent>& extents) const {
    for (const Extent& extent : extents) {
      for (const std::string_view name : extent.names()) {
        const Parameter* parameter = manifest_.find_parameter(name);
        const bool is_integer_parameter =
            parameter != nullptr && parameter->type == ParameterType::integer;
        if (is_integer_parameter || find_integer_argument(name) != nullptr) continue;
        return wrong("{}: {} is no integer argument and no integer parameter", what,
                     in_quotes(name));
      }
    }
    return {};
  }

  const KernelArgument* find_integer_argument(std::string_view name) const {
    const auto found = std::find_if(
        manifest_.arguments.begin(), manifest_.arguments.end(), [&](const auto& argument) {
          return argument.name == name &&
                 (argument.kind == ArgumentKind::int32 || argument.kind == ArgumentKind::int64);
        });
    return found == manifest_.arguments.end() ? nullptr : &*found;
  }

  Status check_instantiation() {
    for (const std::string& name : manifest_.instantiation) {
      used_.insert(name);
      if (manifest_.find_parameter(name) == nullptr && !is_tuning(name)) {
        return wrong("instantiation: {} is no parameter and no tuning name", in_quotes(name));
      }
    }
    return {};
  }

  Status check_launch() {
    const LaunchRule& launch = manifest_.launch;
    KILN_TRY(check_count("block", launch.block, 1, Tuning::allowed));
    KILN_TRY(check_count("shared_bytes", launch.shared_bytes, 0, Tuning::allowed));
    if (launch.grid.empty() || launch.grid.size() > kMaxGrid.size()) {
      return wrong("grid has {} dimensions; allowed: 1 to 3", launch.grid.size());
    }
    for (std::size_t i = 0; i < launch.grid.size(); ++i) {
      const Status status = check_grid(launch.grid[i], kMaxGrid.at(i));
      if (!status.is_ok()) return status.with_context(fmt::format("grid: [{}]", i));
    }
    return {};
  }

  Status check_grid(const GridRule& rule, std::int64_t limit) {
    for (const std::string_view name : rule.over.names()) {
      if (find_integer_argument(name) == nullptr) {
        return wrong("over: {} is no integer argument", in_quotes(name));
      }
    }
    if (rule.max > limit) {
      return wrong("max is {}; allowed: 1 to {}", rule.max, limit);
    }
    KILN_TRY(check_count("per_block", rule.per_block, 1, Tuning::allowed));
    if (!rule.blocks_per_sm) return {};
    return check_count("blocks_per_sm", *rule.blocks_per_sm, 1, Tuning::allowed);
  }

  enum class Tuning { allowed, refused };

  // A number of at least `least`, or an extent of names that are never less than that.
  Status check_count(std::string_view what,
                     const Extent& extent,
                     std::int64_t least,
                     Tuning tuning) {
    if (extent.is_number()) {
      const auto none = [](std::string_view) { return Result<std::int64_t>(0); };
      KILN_TRY_ASSIGN(const std::int64_t number, extent.evaluate(none));
      return number >= least ? Status() : too_small(what, extent.text(), extent.text(), least);
    }
    for (const std::string_view name : extent.names()) {
      KILN_TRY(check_name_in_count(what, name, least, tuning));
    }
    return {};
  }

  static Status too_small(std::string_view what,
                          std::string_view name,
                          std::string_view value,
                          std::int64_t least) {
    return wrong("{}: {} can be {}; allowed: {} or more", what, name, value, least);
  }

  Status check_name_in_count(std::string_view what,
                             std::string_view name,
                             std::int64_t least,
                             Tuning tuning) {
    used_.insert(name);
    if (tuning == Tuning::allowed && is_tuning(name)) {
      for (const TuningRule& rule : manifest_.tuning) {
        for (const auto& [tuned, value] : rule.values) {
          if (tuned == name && value < least) {
            return too_small(what, name, fmt::format("{}", value), least);
          }
        }
      }
      return {};
    }
    const Parameter* parameter = manifest_.find_parameter(name);
    if (parameter == nullptr || parameter->type != ParameterType::integer) {
      return wrong("{}: {} is no integer parameter{}", what, in_quotes(name),
                   tuning == Tuning::allowed ? " and no tuning name" : "");
    }
    for (const std::string& value : parameter->values) {
      if (parse_integer(value).value_or(0) < least) return too_small(what, name, value, least);
    }
    if (!parameter->values.empty() || (parameter->min && *parameter->min >= least)) return {};
    return too_small(what, name,
                     parameter->min ? fmt::format("{}", *parameter->min) : "any integer", least);
  }

  Status check_tuning_use() const {
    for (std::string_view name : tuning_names_) {
      if (used_.find(name) == used_.end()) {
        return wrong("tuning name \"{}\" is used by nothing", name);
      }
      if (always_set_.find(name) == always_set_.end()) {
        return wrong("tuning name \"{}\" is not set by a rule without condition", name);
      }
    }
    return {};
  }

  Status check(const Condition& condition, std::string_view where) const {
    return check_condition(condition, manifest_.parameters, TargetTerms::refused)
        .with_context(where);
  }
  bool is_tuning(std::string_view name) const {
    return tuning_names_.find(name) != tuning_names_.end();
  }

  const Manifest& manifest_;
  std::set<std::string_view> tuning_names_, always_set_, used_;
};

}  // namespace

Status check_manifest(const Manifest& manifest) {
  return Checker(manifest).run();
}

}  // namespace kiln
