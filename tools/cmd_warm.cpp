// SPDX-License-Identifier: Apache-2.0
// kiln warm: compiles variants ahead of use.
#include "support/text.h"
#include "templates/parameter_value.h"
#include "tools/command.h"
#include "tools/json_output.h"
#include "tools/table.h"
#include "tools/warm_pack.h"
#include "tools/warm_run.h"

#include <algorithm>
#include <memory>
#include <set>

namespace kiln {
namespace {

constexpr int kMostJobs = 1024;

struct Options {
  WarmRequest request;
  std::optional<std::string> jobs;
  bool should_pin = false;
};

Result<int> parse_jobs(const std::optional<std::string>& text) {
  if (!text) return 0;
  const auto jobs = parse_integer(*text);
  if (!jobs || *jobs < 1 || *jobs > kMostJobs) {
    return failure(Code::invalid_argument, "--jobs is {}; allowed: 1 to {}", in_quotes(*text),
                   kMostJobs);
  }
  return static_cast<int>(*jobs);
}

struct WarmFailure {
  const WarmPair& pair;
  Status status;
};

std::vector<WarmFailure> failures_of(const std::vector<WarmPair>& plan, const WarmReport& report) {
  std::vector<WarmFailure> failures;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto& acquired = report.outcomes[i].acquired;
    if (acquired && !acquired->is_ok()) failures.push_back({plan[i], acquired->status()});
  }
  return failures;
}

// What is missing on the machine is said once; what is wrong with a variant, for each.
void print_failures(Console& console, const std::vector<WarmFailure>& failures) {
  std::set<std::string> said;
  for (const WarmFailure& failure : failures) {
    if (failure.status.code() != Code::unavailable) {
      console.write_failure(failure.status.with_context(
          fmt::format("{} for {}", failure.pair.spec, failure.pair.target.text())));
    } else if (said.insert(failure.status.message()).second) {
      console.write_failure(failure.status);
    }
  }
}

Json statistics_json(const Statistics& statistics) {
  return {{"memory_hits", statistics.memory_hits},
          {"disk_hits", statistics.disk_hits},
          {"pack_hits", statistics.pack_hits},
          {"other_toolchain_hits", statistics.other_toolchain_hits},
          {"misses", statistics.misses},
          {"compiles", statistics.compiles},
          {"compile_failures", statistics.compile_failures},
          {"recovered", statistics.recovered},
          {"store_failures", statistics.store_failures},
          {"waits", statistics.waits},
          {"process_waits", statistics.process_waits},
          {"process_wait_us", statistics.process_wait_us},
          {"lock_timeouts", statistics.lock_timeouts}};
}

Json report_json(const std::vector<WarmPair>& plan,
                 const WarmReport& report,
                 const Statistics& statistics,
                 const std::optional<std::string>& pack,
                 const std::vector<WarmFailure>& failures) {
  Json list = Json::array();
  for (const WarmFailure& failure : failures) {
    list.push_back({{"spec", failure.pair.spec},
                    {"target", failure.pair.target.text()},
                    {"code", code_name(failure.status.code())},
                    {"message", failure.status.message()},
                    {"detail", failure.status.detail()}});
  }
  return {{"schema", kJsonSchema},
          {"requested", plan.size()},
          {"compiled", report.compiled},
          {"cached", report.cached},
          {"stored", report.stored},
          {"pinned", report.pinned},
          {"failed", report.failed},
          {"wall_ms", report.wall_ms},
          {"interrupted", report.is_interrupted},
          {"pack", json_or_null(pack)},
          {"statistics", statistics_json(statistics)},
          {"failures", std::move(list)}};
}

std::vector<std::string> cells(const WarmPair& pair, const WarmOutcome& outcome) {
  std::vector<std::string> row = {pair.spec, pair.target.text()};
  if (!outcome.acquired || !outcome.acquired->is_ok()) {
    row.insert(row.end(), {outcome.acquired ? "failed" : "not tried", "", "", "", ""});
    return row;
  }
  const Acquired& acquired = **outcome.acquired;
  const Artifact& artifact = acquired.kernel->artifact;
  row.insert(row.end(), {acquired.tier == Tier::compiled ? "compiled" : "cached",
                         std::to_string(artifact.resources.registers),
                         bytes_text(artifact.resources.spill_bytes()),
                         bytes_text(static_cast<std::int64_t>(artifact.image.size())),
                         duration_text(acquired.elapsed_us)});
  return row;
}

std::string report_text(const std::vector<WarmPair>& plan,
                        const WarmReport& report,
                        const std::optional<std::string>& pack) {
  using Align = Table::Align;
  Table table({{"SPEC"},
               {"TARGET"},
               {"RESULT"},
               {"REGISTERS", Align::right},
               {"SPILLS", Align::right},
               {"IMAGE", Align::right},
               {"TIME", Align::right}});
  for (std::size_t i = 0; i < plan.size(); ++i)
    table.add_row(cells(plan[i], report.outcomes[i]));
  const std::string published = pack ? fmt::format("published {}\n", printable(*pack)) : "";
  return fmt::format("{}\n{} requested: {} compiled ({} stored), {} cached, {} failed in {} ms\n{}",
                     table.text(), plan.size(), report.compiled, report.stored, report.cached,
                     report.failed, report.wall_ms, published);
}

ExitCode outcome_of(const WarmReport& report, const std::vector<WarmFailure>& failures) {
  const bool is_unavailable = std::any_of(
      failures.begin(), failures.end(),
      [](const WarmFailure& failure) { return failure.status.code() == Code::unavailable; });
  if (is_unavailable) return ExitCode::unavailable;
  return report.failed > 0 || report.is_interrupted ? ExitCode::failed : ExitCode::done;
}

Result<ExitCode> run(Invocation& invocation, const Options& options) {
  KILN_TRY_ASSIGN(const int jobs, parse_jobs(options.jobs));
  // Checked before the engine is opened: a wrong call creates no cache.
  KILN_TRY_ASSIGN(const Catalog catalog, Catalog::open(invocation.environment.template_path));
  Devices devices;
  KILN_TRY_ASSIGN(const std::vector<WarmPair> plan, plan_warm(options.request, catalog, devices));
  KILN_TRY_ASSIGN(const auto engine, Engine::open({.environment = invocation.environment,
                                                   .cache_dir = invocation.cache_dir,
                                                   .most_compiles = jobs}));
  const int threads =
      std::min(engine->most_compiles(), static_cast<int>(std::max<std::size_t>(plan.size(), 1)));
  const WarmReport report =
      run_warm(*engine, plan, threads, options.should_pin, invocation.console);
  const auto pack = publish_warmed(invocation, *engine, report);

  const std::vector<WarmFailure> failures = failures_of(plan, report);
  print_failures(invocation.console, failures);
  if (report.is_interrupted) {
    invocation.console.write_failure(
        failure(Code::cancelled, "interrupted; {} of {} not tried", report.not_tried, plan.size()));
  }
  KILN_TRY(invocation.is_json
               ? write_json(invocation.console,
                            report_json(plan, report, engine->statistics(), pack, failures))
               : invocation.console.write_output(report_text(plan, report, pack)));
  return outcome_of(report, failures);
}

}  // namespace

RunCommand cmd_warm(CLI::App& command) {
  const auto options = std::make_shared<Options>();
  WarmRequest& request = options->request;
  command
      .add_option("spec", request.specs,
                  "variants, as in layernorm_modulate:hidden=6144,out=bf16+e4m3; parameters left "
                  "out take the template's default")
      ->type_name("SPEC");
  command.add_option("--model", request.models, "all variants of a known model; repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command
      .add_option("--target", request.targets,
                  "targets separated by commas, as in sm_90a,sm_100a; the local devices' if left "
                  "out")
      ->type_name("TARGET[,TARGET]")
      ->allow_extra_args(false);
  command
      .add_option("--shard", request.shard,
                  "only the i-th of n equal parts of the list, i from 1 to n")
      ->type_name("i/n");
  command.add_option("--jobs,-j", options->jobs, "compiles at once; as many as cores if left out")
      ->type_name("N");
  command.add_flag("--pin", options->should_pin,
                   "keep the entries, also those already there, whatever the cache's limit");
  return [options](Invocation& invocation) { return run(invocation, *options); };
}

}  // namespace kiln
