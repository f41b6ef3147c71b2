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
    if (!is_file_name(manifest_.source)) {
      return wrong("source {} must be the name of a file beside the manifest",
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
    if (argument.kind == ArgumentKind::pointer && dtype_bytes(argument.dtype) == 0) {
      return wrong("dtype is {}; allowed: bf16, f16, f32, e4m3, e5m2, u8, i32, i64",
                   in_quotes(argument.dtype));
    }
    KILN_TRY(check_count("vector", argument.vector, 1, Tuning::refused));
    return check_count("multiple_of", argument.multiple_of, 1, Tuning::refused);
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
    const auto over =
        std::find_if(manifest_.arguments.begin(), manifest_.arguments.end(),
                     [&](const auto& argument) { return argument.name == rule.over; });
    if (over == manifest_.arguments.end() ||
        (over->kind != ArgumentKind::int32 && over->kind != ArgumentKind::int64)) {
      return wrong("over: {} is no integer argument", in_quotes(rule.over));
    }
    if (!over->used_when.terms.empty()) {
      return wrong("over: \"{}\" is not used by every variant", rule.over);
    }
    if (rule.max > limit) {
      return wrong("max is {}; allowed: 1 to {}", rule.max, limit);
    }
    KILN_TRY(check_count("per_block", rule.per_block, 1, Tuning::allowed));
    if (rule.blocks_per_sm.empty()) return {};
    return check_count("blocks_per_sm", rule.blocks_per_sm, 1, Tuning::allowed);
  }

  enum class Tuning { allowed, refused };

  // A number, or a name whose every possible value is at least `least`.
  Status check_count(std::string_view what,
                     const std::string& text,
                     std::int64_t least,
                     Tuning tuning) {
    const auto too_small = [&](std::string_view value) {
      return wrong("{}: {} can be {}; allowed: {} or more", what, text, value, least);
    };
    if (const auto number = parse_integer(text)) {
      return *number >= least ? Status() : too_small(text);
    }
    used_.insert(text);
    if (tuning == Tuning::allowed && is_tuning(text)) {
      for (const TuningRule& rule : manifest_.tuning) {
        for (const auto& [name, value] : rule.values) {
          if (name == text && value < least) return too_small(fmt::format("{}", value));
        }
      }
      return {};
    }
    const Parameter* parameter = manifest_.find_parameter(text);
    if (parameter == nullptr || parameter->type != ParameterType::integer) {
      return wrong("{}: {} is no integer parameter{}", what, in_quotes(text),
                   tuning == Tuning::allowed ? " and no tuning name" : "");
    }
    for (const std::string& value : parameter->values) {
      if (parse_integer(value).value_or(0) < least) return too_small(value);
    }
    if (!parameter->values.empty() || (parameter->min && *parameter->min >= least)) return {};
    return too_small(parameter->min ? fmt::format("{}", *parameter->min) : "any integer");
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
