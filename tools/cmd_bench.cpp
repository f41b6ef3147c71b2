// SPDX-License-Identifier: Apache-2.0
// kiln bench: kernels against a copy of as many bytes.
#include "support/files.h"
#include "tools/bench_plot.h"
#include "tools/bench_report.h"
#include "tools/command.h"
#include "tools/progress.h"

#include <fcntl.h>

#include <cerrno>
#include <memory>

namespace kiln {
namespace {

constexpr std::int64_t kMostReplays = 10'000;
constexpr int kUsualReplays = 15;
constexpr mode_t kPlotMode = 0644;

struct Options {
  CaseRequest request;
  std::optional<std::string> replays, plot;
};

Result<int> parse_replays(const std::optional<std::string>& text) {
  if (!text) return kUsualReplays;
  KILN_TRY_ASSIGN(const std::int64_t replays, parse_number("--repeat", *text, 1, kMostReplays));
  return static_cast<int>(replays);
}

// Opened before anything is timed, so that a wrong path is told at once.
Result<UniqueFd> open_plot(const std::optional<std::string>& path) {
  if (!path) return UniqueFd();
  UniqueFd file(::open(path->c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kPlotMode));
  if (!file) return system_failure(Code::io, errno, *path);
  return file;
}

std::string plot_text(const BenchReport& report) {
  std::vector<BenchBar> bars;
  for (std::size_t i = 0; i < report.cases.size(); ++i) {
    const Result<Measurement>& measured = report.measured[i];
    if (!measured.is_ok()) continue;
    bars.push_back({report.cases[i].label(), measured->ratio(), measured->kernel_us});
  }
  return bench_plot(
      fmt::format("Time of a launch, in times of a copy of as many bytes: {}", report.device_name),
      bars);
}

struct Session {
  std::shared_ptr<Engine> engine;
  std::shared_ptr<Devices> devices;
  int device;
  int replays;

  Result<Measurement> measure_case(const KernelCase& each, Kernel& copy) const {
    KILN_TRY_ASSIGN(const auto kernel,
                    Kernel::acquire(engine, devices, {.spec = each.spec, .device = device}));
    return measure(*kernel, copy, each.integers, replays);
  }
};

Result<std::vector<Result<Measurement>>> measure_all(Console& console,
                                                     const Session& session,
                                                     const std::vector<KernelCase>& cases) {
  KILN_TRY_ASSIGN(const auto copy,
                  Kernel::acquire(session.engine, session.devices,
                                  {.spec = "device_copy", .device = session.device}));
  std::optional<Progress> progress;
  if (console.is_terminal()) progress.emplace(console, cases.size());
  std::vector<Result<Measurement>> measured;
  for (const KernelCase& each : cases) {
    measured.push_back(session.measure_case(each, *copy));
    if (!measured.back().is_ok()) {
      console.write_failure(measured.back().status().with_context(each.label()));
    }
    if (progress) progress->advance(each.label());
  }
  return measured;
}

ExitCode exit_code_of(const BenchReport& report) {
  ExitCode code = ExitCode::done;
  for (const Result<Measurement>& measured : report.measured) {
    if (measured.is_ok()) continue;
    if (measured.status().code() == Code::unavailable) return ExitCode::unavailable;
    code = ExitCode::failed;
  }
  return code;
}

Result<ExitCode> run(Invocation& invocation, const Options& options) {
  KILN_TRY_ASSIGN(const int replays, parse_replays(options.replays));
  KILN_TRY_ASSIGN(const int ordinal, parse_device(options.request));
  KILN_TRY_ASSIGN(const Catalog catalog, Catalog::open(invocation.environment.template_path));
  KILN_TRY_ASSIGN(KernelCases planned, plan_cases(options.request, catalog));
  const auto devices = std::make_shared<Devices>();
  KILN_TRY_ASSIGN(const auto device, devices->device(ordinal));
  KILN_TRY_ASSIGN(const UniqueFd plot, open_plot(options.plot));
  KILN_TRY_ASSIGN(const auto engine, Engine::open({.environment = invocation.environment,
                                                   .cache_dir = invocation.cache_dir}));
  const Session session{engine, devices, ordinal, replays};
  KILN_TRY_ASSIGN(auto measured, measure_all(invocation.console, session, planned.cases));
  const BenchReport report{.device_name = device->name,
                           .replays = replays,
                           .cases = std::move(planned.cases),
                           .uses = std::move(planned.uses),
                           .measured = std::move(measured)};
  if (plot) KILN_TRY(write_all(plot.get(), plot_text(report)).with_context(*options.plot));
  KILN_TRY(invocation.is_json ? write_json(invocation.console, bench_json(report))
                              : invocation.console.write_output(bench_text(report)));
  return exit_code_of(report);
}

}  // namespace

RunCommand cmd_bench(CLI::App& command) {
  const auto options = std::make_shared<Options>();
  add_case_options(command, options->request);
  command
      .add_option(
          "--repeat", options->replays,
          fmt::format("timed replays, of which the median counts; {} if left out", kUsualReplays))
      ->type_name("N");
  command.add_option("--plot", options->plot, "also write a bar chart here")->type_name("FILE.svg");
  return [options](Invocation& invocation) { return run(invocation, *options); };
}

}  // namespace kiln
