// SPDX-License-Identifier: Apache-2.0
// kiln check: kernels against their references, bit by bit.
#include "runtime/check.h"
#include "support/text.h"
#include "tools/command.h"
#include "tools/kernel_cases.h"
#include "tools/progress.h"

#include <algorithm>
#include <limits>
#include <memory>

namespace kiln {
namespace {

struct Options {
  CaseRequest request;
  std::optional<std::string> seed;
};

struct Outcome {
  const KernelCase* kernel_case;
  Result<std::vector<OutputCheck>> outputs;
};

struct Totals {
  std::size_t outputs = 0;
  std::size_t mismatched = 0;
  std::size_t failed = 0;
};

Totals totals_of(const std::vector<Outcome>& outcomes) {
  Totals totals;
  for (const Outcome& outcome : outcomes) {
    if (!outcome.outputs.is_ok()) {
      ++totals.failed;
      continue;
    }
    for (const OutputCheck& output : *outcome.outputs) {
      ++totals.outputs;
      if (!output.is_equal()) ++totals.mismatched;
    }
  }
  return totals;
}

Status require_references(const KernelCases& planned) {
  for (const KernelCase& each : planned.cases) {
    if (each.variant.manifest().reference) continue;
    return failure(Code::unsupported, "template \"{}\" has no reference to compare with",
                   each.variant.manifest().name);
  }
  return {};
}

Result<std::vector<OutputCheck>> check_case(const KernelCase& each,
                                            const std::shared_ptr<Engine>& engine,
                                            const std::shared_ptr<Devices>& devices,
                                            int device,
                                            std::uint64_t seed) {
  const Spec reference{reference_name(each.variant.manifest().name), each.variant.parameters()};
  KILN_TRY_ASSIGN(const auto kernel,
                  Kernel::acquire(engine, devices, {.spec = each.spec, .device = device}));
  KILN_TRY_ASSIGN(const auto reference_kernel,
                  Kernel::acquire(engine, devices, {.spec = reference.text(), .device = device}));
  return check_kernel(*kernel, *reference_kernel, each.integers, seed);
}

Json output_json(const OutputCheck& output) {
  Json first = nullptr;
  if (output.first) {
    first = {{"index", output.first->index},
             {"bits", fmt::format("{:#x}", output.first->bits)},
             {"reference_bits", fmt::format("{:#x}", output.first->reference_bits)}};
  }
  return {{"name", output.name},
          {"elements", output.elements},
          {"mismatches", output.mismatches},
          {"stray_bytes", output.stray_bytes},
          {"first", std::move(first)}};
}

Json outcome_json(const Outcome& outcome) {
  Json outputs = Json::array();
  if (outcome.outputs.is_ok()) {
    for (const OutputCheck& output : *outcome.outputs)
      outputs.push_back(output_json(output));
  }
  return {{"spec", outcome.kernel_case->variant.spec()},
          {"shape", integers_json(outcome.kernel_case->integers)},
          {"outputs", std::move(outputs)},
          {"failure", status_json(outcome.outputs.status())}};
}

Json report_json(const std::vector<Outcome>& outcomes, const Device& device, std::uint64_t seed) {
  const Totals totals = totals_of(outcomes);
  Json list = Json::array();
  for (const Outcome& outcome : outcomes)
    list.push_back(outcome_json(outcome));
  return {
      {"schema", kJsonSchema},       {"device", device.name},     {"seed", seed},
      {"variants", outcomes.size()}, {"outputs", totals.outputs}, {"mismatched", totals.mismatched},
      {"failed", totals.failed},     {"results", std::move(list)}};
}

std::string output_text(const KernelCase& each, const OutputCheck& output) {
  std::string text = fmt::format("{} {} mismatches {} of {}", each.label(), output.name,
                                 output.mismatches, output.elements);
  if (output.first) {
    std::vector<std::string> index;
    for (const std::int64_t i : output.first->index)
      index.push_back(std::to_string(i));
    text += fmt::format(", first at [{}]: {:#x}, reference {:#x}", joined(index, ", "),
                        output.first->bits, output.first->reference_bits);
  }
  if (output.stray_bytes > 0) {
    text += fmt::format(", {} bytes written outside of it", output.stray_bytes);
  }
  return text + '\n';
}

std::string summary_text(const std::vector<Outcome>& outcomes) {
  const Totals totals = totals_of(outcomes);
  std::string text = fmt::format("check: {} outputs of {} variants, {} with mismatches",
                                 totals.outputs, outcomes.size(), totals.mismatched);
  if (totals.failed > 0) text += fmt::format(", {} not checked", totals.failed);
  return text + '\n';
}

// As soon as it is known: a run may take long.
Status print(Invocation& invocation, const Outcome& outcome) {
  if (!outcome.outputs.is_ok()) {
    invocation.console.write_failure(
        outcome.outputs.status().with_context(outcome.kernel_case->label()));
    return {};
  }
  if (invocation.is_json) return {};
  for (const OutputCheck& output : *outcome.outputs) {
    KILN_TRY(invocation.console.write_output(output_text(*outcome.kernel_case, output)));
  }
  return {};
}

ExitCode exit_code_of(const std::vector<Outcome>& outcomes) {
  const Totals totals = totals_of(outcomes);
  const bool is_unavailable = std::any_of(
      outcomes.begin(), outcomes.end(),
      [](const Outcome& outcome) { return outcome.outputs.status().code() == Code::unavailable; });
  if (is_unavailable) return ExitCode::unavailable;
  return totals.failed + totals.mismatched > 0 ? ExitCode::failed : ExitCode::done;
}

Result<std::uint64_t> parse_seed(const std::optional<std::string>& text) {
  if (!text) return 1;
  KILN_TRY_ASSIGN(const std::int64_t seed,
                  parse_number("--seed", *text, 0, std::numeric_limits<std::int64_t>::max()));
  return static_cast<std::uint64_t>(seed);
}

Result<ExitCode> run(Invocation& invocation, const Options& options) {
  KILN_TRY_ASSIGN(const std::uint64_t seed, parse_seed(options.seed));
  KILN_TRY_ASSIGN(const int ordinal, parse_device(options.request));
  KILN_TRY_ASSIGN(const Catalog catalog, Catalog::open(invocation.environment.template_path));
  KILN_TRY_ASSIGN(const KernelCases planned, plan_cases(options.request, catalog));
  KILN_TRY(require_references(planned));
  const auto devices = std::make_shared<Devices>();
  KILN_TRY_ASSIGN(const auto device, devices->device(ordinal));
  KILN_TRY_ASSIGN(const auto engine, Engine::open({.environment = invocation.environment,
                                                   .cache_dir = invocation.cache_dir}));
  std::vector<Outcome> outcomes;
  {
    std::optional<Progress> progress;
    if (invocation.console.is_terminal()) {
      progress.emplace(invocation.console, planned.cases.size());
    }
    for (const KernelCase& each : planned.cases) {
      outcomes.push_back({&each, check_case(each, engine, devices, ordinal, seed)});
      KILN_TRY(print(invocation, outcomes.back()));
      if (progress) progress->advance(each.label());
    }
  }
  KILN_TRY(invocation.is_json ? write_json(invocation.console, report_json(outcomes, *device, seed))
                              : invocation.console.write_output(summary_text(outcomes)));
  return exit_code_of(outcomes);
}

}  // namespace

RunCommand cmd_check(CLI::App& command) {
  const auto options = std::make_shared<Options>();
  add_case_options(command, options->request);
  command.add_option("--seed", options->seed, "of the random inputs; 1 if left out")
      ->type_name("N");
  return [options](Invocation& invocation) { return run(invocation, *options); };
}

}  // namespace kiln
