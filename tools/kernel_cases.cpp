// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel_cases.h"

#include "support/text.h"
#include "templates/models.h"
#include "templates/named_values.h"
#include "templates/parameter_value.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace kiln {
namespace {

constexpr std::int64_t kMostDevices = 1024;

Status bad_shape(std::string_view text) {
  return failure(Code::invalid_argument,
                 "--shape is {}; allowed: NAME=NUMBER, separated by commas, none twice",
                 in_quotes(text));
}

Result<IntegerArguments> parse_shape(std::string_view text) {
  IntegerArguments shape;
  for (const std::string_view pair : split(text, ',')) {
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view name = pair.substr(0, equals);
    const auto value = parse_integer(pair.substr(std::min(equals + 1, pair.size())));
    if (name.empty() || !value || find_value(shape, name) != nullptr) return bad_shape(text);
    shape.emplace_back(name, *value);
  }
  return shape;
}

// Before memory is allocated for them; the launch checks the rest.
Status check_range(const Variant& variant, const IntegerArguments& integers) {
  for (const KernelArgument& argument : variant.manifest().arguments) {
    const std::int64_t* const value = find_value(integers, argument.name);
    if (value == nullptr || !argument.used_when.holds(variant.parameters())) continue;
    const std::int64_t least = std::max<std::int64_t>(argument.min.value_or(0), 0);
    const std::int64_t most = argument.kind == ArgumentKind::int32
                                  ? std::numeric_limits<std::int32_t>::max()
                                  : std::numeric_limits<std::int64_t>::max();
    if (*value < least || *value > most) {
      return failure(Code::invalid_argument, "argument \"{}\" is {}; allowed: {} to {}",
                     argument.name, *value, least, most);
    }
  }
  return {};
}

std::string shape_text(const Variant& variant,
                       const IntegerArguments& given,
                       const IntegerArguments& integers) {
  std::vector<std::string> texts;
  // Without strides, which would fill the line; JSON has them.
  for (const auto& [name, value] : given) {
    if (!name.ends_with("_stride")) texts.push_back(fmt::format("{}={}", name, value));
  }
  for (const KernelArgument& argument : variant.manifest().arguments) {
    if (!argument.example || find_value(given, argument.name) != nullptr) continue;
    if (!argument.used_when.holds(variant.parameters())) continue;
    texts.push_back(fmt::format("{}={}", argument.name, *find_value(integers, argument.name)));
  }
  return joined(texts, " ");
}

Result<KernelCase> make_case(const Catalog& catalog,
                             const std::string& spec,
                             const IntegerArguments& given) {
  KILN_TRY_ASSIGN(const Variant variant, Variant::parse(catalog, spec));
  KILN_TRY_ASSIGN(IntegerArguments integers, complete_arguments(variant, given));
  KILN_TRY(check_range(variant, integers));
  KILN_TRY(tensor_layouts(variant, integers).status());
  std::string shape = shape_text(variant, given, integers);
  return KernelCase{variant, std::move(integers), spec, std::move(shape)};
}

class Plan {
 public:
  explicit Plan(const Catalog& catalog) : catalog_(catalog) {}

  Status add(const std::string& spec, const IntegerArguments& shape, CaseUse use) {
    auto made = make_case(catalog_, spec, shape);
    if (!made.is_ok()) return made.status().with_context(in_quotes(spec));
    auto& cases = planned_.cases;
    const auto same = std::find_if(cases.begin(), cases.end(), [&](const KernelCase& other) {
      return other.variant.spec() == made->variant.spec() && other.integers == made->integers;
    });
    use.index = static_cast<std::size_t>(same - cases.begin());
    if (same == cases.end()) cases.push_back(*std::move(made));
    planned_.uses.push_back(std::move(use));
    return {};
  }

  KernelCases take() { return std::move(planned_); }

 private:
  const Catalog& catalog_;
  KernelCases planned_;
};

}  // namespace

void add_case_options(CLI::App& command, CaseRequest& request) {
  command
      .add_option("spec", request.specs,
                  "variants, as in layernorm_modulate:hidden=6144,out=bf16+e4m3")
      ->type_name("SPEC");
  command
      .add_option("--model", request.models,
                  "all variants of a known model in the shapes it has; repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command
      .add_option("--shape", request.shapes,
                  "integer arguments for the specs, as in rows=4096,batches=1; those left out take "
                  "the template's example; repeatable")
      ->type_name("NAME=N[,NAME=N]")
      ->allow_extra_args(false);
  command.add_option("--device", request.device, "the device to run on, from 0")->type_name("N");
}

Result<KernelCases> plan_cases(const CaseRequest& request, const Catalog& catalog) {
  if (request.specs.empty() && request.models.empty()) {
    return failure(Code::invalid_argument, "nothing to run; give specs, or --model NAME");
  }
  if (request.specs.empty() && !request.shapes.empty()) {
    return failure(Code::invalid_argument, "--shape is for specs, and none is given");
  }
  std::vector<IntegerArguments> shapes;
  for (const std::string& text : request.shapes) {
    KILN_TRY_ASSIGN(shapes.emplace_back(), parse_shape(text));
  }
  if (shapes.empty()) shapes.emplace_back();
  Plan plan(catalog);
  for (const std::string& spec : request.specs) {
    for (const IntegerArguments& shape : shapes)
      KILN_TRY(plan.add(spec, shape, {.index = 0}));
  }
  for (const std::string& name : std::set(request.models.begin(), request.models.end())) {
    KILN_TRY_ASSIGN(const Model model, find_model(name));
    for (const ModelVariant& variant : model.variants) {
      KILN_TRY(plan.add(variant.spec, variant.shape,
                        {.index = 0,
                         .model = name,
                         .site = variant.site,
                         .per_forward = variant.per_forward})
                   .with_context("model " + in_quotes(name)));
    }
  }
  return plan.take();
}

Result<int> parse_device(const CaseRequest& request) {
  if (!request.device) return 0;
  KILN_TRY_ASSIGN(const std::int64_t device,
                  parse_number("--device", *request.device, 0, kMostDevices));
  return static_cast<int>(device);
}

Result<std::int64_t> parse_number(std::string_view option,
                                  std::string_view text,
                                  std::int64_t least,
                                  std::int64_t most) {
  const auto number = parse_integer(text);
  if (number && *number >= least && *number <= most) return *number;
  return failure(Code::invalid_argument, "{} is {}; allowed: {} to {}", option, in_quotes(text),
                 least, most);
}

Json integers_json(const IntegerArguments& integers) {
  Json json = Json::object();
  for (const auto& [name, value] : integers)
    json[name] = value;
  return json;
}

Json status_json(const Status& status) {
  if (status.is_ok()) return nullptr;
  return {{"code", code_name(status.code())},
          {"message", status.message()},
          {"detail", status.detail()}};
}

}  // namespace kiln
