// SPDX-License-Identifier: Apache-2.0
#include "tools/warm_plan.h"

#include "support/text.h"
#include "templates/models.h"
#include "templates/parameter_value.h"
#include "templates/spec.h"

#include <algorithm>
#include <map>
#include <set>

namespace kiln {
namespace {

using Variants = std::map<std::string, Variant>;  // by canonical spec

Status add_spec(const Catalog& catalog, const std::string& text, Variants& variants) {
  KILN_TRY_ASSIGN(const Spec spec, parse_spec(text));
  KILN_TRY_ASSIGN(auto source, catalog.find(spec.template_name));
  auto variant = Variant::make(std::move(source), spec.parameters);
  if (!variant.is_ok()) return variant.status().with_context(in_quotes(text));
  variants.try_emplace(variant->spec(), *variant);
  return {};
}

Result<Variants> read_variants(const WarmRequest& request, const Catalog& catalog) {
  Variants variants;
  for (const std::string& spec : request.specs) {
    KILN_TRY(add_spec(catalog, spec, variants));
  }
  for (const std::string& name : request.models) {
    KILN_TRY_ASSIGN(const Model model, find_model(name));
    for (const ModelVariant& variant : model.variants) {
      KILN_TRY(add_spec(catalog, variant.spec, variants).with_context("model " + in_quotes(name)));
    }
  }
  if (variants.empty()) {
    return failure(Code::invalid_argument, "nothing to warm; give specs, or --model NAME");
  }
  return variants;
}

Result<std::set<Target>> read_targets(const WarmRequest& request, Devices& devices) {
  std::set<Target> targets;
  for (const std::string_view list : request.targets) {
    for (const std::string_view text : split(list, ',')) {
      KILN_TRY_ASSIGN(const Target target, parse_target(text));
      targets.insert(target);
    }
  }
  if (!targets.empty()) return targets;
  const Result<std::vector<Device>> found = devices.list();
  const std::string reason = found.is_ok() ? "there is none" : found.status().message();
  if (found.is_ok()) {
    for (const Device& device : *found)
      targets.insert(default_target(device.capability));
  }
  if (targets.empty()) {
    return failure(Code::invalid_argument,
                   "no device to take the target from ({}); name one, as with --target sm_90a",
                   reason);
  }
  return targets;
}

}  // namespace

Result<Shard> parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const auto index = parse_integer(text.substr(0, slash));
    const auto count = parse_integer(text.substr(slash + 1));
    if (index && count && *index >= 1 && *index <= *count) return Shard{*index, *count};
  }
  return failure(Code::invalid_argument, "--shard is {}; allowed: i/n with i from 1 to n",
                 in_quotes(text));
}

Result<std::vector<WarmPair>> plan_warm(const WarmRequest& request,
                                        const Catalog& catalog,
                                        Devices& devices) {
  Shard shard;
  if (request.shard) {
    KILN_TRY_ASSIGN(shard, parse_shard(*request.shard));
  }
  KILN_TRY_ASSIGN(const Variants variants, read_variants(request, catalog));
  KILN_TRY_ASSIGN(const std::set<Target> targets, read_targets(request, devices));
  std::vector<WarmPair> pairs;
  std::int64_t position = 0;
  for (const auto& [spec, variant] : variants) {
    for (const Target& target : targets) {
      if (position++ % shard.count == shard.index - 1) {
        pairs.push_back({.variant = variant, .spec = spec, .target = target});
      }
    }
  }
  return pairs;
}

}  // namespace kiln
