// SPDX-License-Identifier: Apache-2.0

// kiln_golden [--gpu] [--reference] [--compiler PROGRAM] [--list LIST] [FILE…]
// Runs the kernels of golden vectors, on the CPU or on device 0, and compares every output bit by
// bit. One line an output, then a summary. A list names files, one a line, relative to its own
// folder. Exit: 0 all equal, 1 some differ, 2 a file cannot be used or a kernel cannot be run, 3
// --gpu without a device.

#include "support/files.h"
#include "tests/host_device/cpu_backend.h"
#include "tests/host_device/golden_case.h"
#include "tests/host_device/gpu_backend.h"
#include "tests/host_device/variant_case.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln {
namespace {

constexpr int kDiffers = 1;
constexpr int kUnusable = 2;
constexpr int kUnavailable = 3;
constexpr std::size_t kMostListBytes = 1UL << 16;

struct Totals {
  int outputs = 0;
  int differing = 0;
};

void report(const std::string& path,
            const Comparison& comparison,
            std::string_view note,
            Totals& totals) {
  fmt::print("{} {} mismatches {} of {}{}\n", path, comparison.name, comparison.mismatches,
             comparison.count, note);
  ++totals.outputs;
  if (comparison.mismatches != 0) ++totals.differing;
}

// Which kernel of a template: its own, or the one that it is compared with.
enum class Kernels { templates, references };

Status run_one(const GoldenRun& run, const Catalog& catalog, Backend& backend, Kernels kernels) {
  if (kernels == Kernels::templates) return backend.run(run.variant, run.arguments);
  KILN_TRY_ASSIGN(const Variant reference, reference_of(catalog, run.variant));
  return backend.run(reference, run.arguments);
}

Status check_file(const std::string& path,
                  const Catalog& catalog,
                  Backend& backend,
                  Kernels kernels,
                  Totals& totals) {
  KILN_TRY_ASSIGN(const Safetensors file, read_safetensors(path));
  KILN_TRY_ASSIGN(GoldenCase golden, make_golden_case(catalog, file));
  for (const Comparison& comparison : golden.statistics)
    report(path, comparison, "", totals);
  host::set_device_values(&golden.device_values);
  const bool knows_inverse = !golden.device_values.inverse_div_full.empty();
  for (const GoldenRun& run : golden.runs) {
    const Status status = run_one(run, catalog, backend, kernels);
    if (!status.is_ok()) {
      host::set_device_values(nullptr);
      return status.with_context(run.outputs.front()->name);
    }
    const bool is_stand_in = run.uses_div_full && !knows_inverse && !backend.is_device();
    for (const auto& output : run.outputs) {
      report(path, output->compare(), is_stand_in ? " (div_full replayed as rcp_rn)" : "", totals);
    }
  }
  host::set_device_values(nullptr);
  return {};
}

// invalid_argument if the list names nothing: then nothing would be checked.
Result<std::vector<std::string>> read_list(const std::string& path) {
  KILN_TRY_ASSIGN(const std::string text, read_file(path, kMostListBytes));
  std::istringstream lines(text);
  std::vector<std::string> paths;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) paths.push_back((std::filesystem::path(path).parent_path() / line).string());
  }
  if (paths.empty()) return failure(Code::invalid_argument, "{} names no file", path);
  return paths;
}

int fail(const Status& status) {
  fmt::print(stderr, "kiln_golden: {}\n{}", status.message(), status.detail());
  return kUnusable;
}

int check_files(const std::vector<std::string>& paths, Backend& backend, Kernels kernels) {
  const auto catalog = Catalog::open({});
  if (!catalog.is_ok()) return fail(catalog.status());
  Totals totals;
  bool all_usable = true;
  for (const std::string& path : paths) {
    const Status status = check_file(path, *catalog, backend, kernels, totals);
    if (status.is_ok()) continue;
    (void)fail(status.with_context(path));
    all_usable = false;
  }
  fmt::print("{} files, {} outputs, {} with mismatches\n", paths.size(), totals.outputs,
             totals.differing);
  if (!all_usable) return kUnusable;
  return totals.differing == 0 ? 0 : kDiffers;
}

Result<std::unique_ptr<GpuBackend>> make_gpu_backend() {
  KILN_TRY_ASSIGN(Environment environment, Environment::read());
  return GpuBackend::create(std::move(environment));
}

int run_on_gpu(const std::vector<std::string>& paths, Kernels kernels) {
  const auto backend = make_gpu_backend();
  if (!backend.is_ok()) {
    (void)fail(backend.status());
    return backend.status().code() == Code::unavailable ? kUnavailable : kUnusable;
  }
  const int result = check_files(paths, **backend, kernels);
  const Statistics statistics = (*backend)->statistics();
  fmt::print("{}: {} compiled, {} disk hits, {} memory hits\n", (*backend)->device_name(),
             statistics.compiles, statistics.disk_hits, statistics.memory_hits);
  return result;
}

int run_on_cpu(const std::string& compiler,
               const std::vector<std::string>& paths,
               Kernels kernels) {
  const auto backend = CpuBackend::create({.compiler = compiler});
  if (!backend.is_ok()) return fail(backend.status());
  return check_files(paths, **backend, kernels);
}
}  // namespace
}  // namespace kiln

int main(int argc, char** argv) {
  CLI::App app("compare kernels with golden vectors, bit by bit");
  std::string compiler = kiln::default_cpu_compiler();
  std::vector<std::string> paths;
  bool on_gpu = false;
  app.add_flag("--gpu", on_gpu, "run on device 0, through the cache");
  app.add_option("--compiler", compiler, "C++ compiler for the kernels")->capture_default_str();
  bool of_references = false;
  app.add_flag("--reference", of_references, "run the templates' reference kernels instead");
  std::string list;
  app.add_option("--list", list, "file with the names of golden vectors");
  app.add_option("FILE", paths, "golden vectors (safetensors)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kiln::kUnusable;
  }
  if (!list.empty()) {
    const auto listed = kiln::read_list(list);
    if (!listed.is_ok()) return kiln::fail(listed.status());
    paths.insert(paths.end(), listed->begin(), listed->end());
  }
  if (paths.empty()) {
    return kiln::fail(kiln::failure(kiln::Code::invalid_argument, "no FILE and no --list given"));
  }
  const auto kernels = of_references ? kiln::Kernels::references : kiln::Kernels::templates;
  return on_gpu ? kiln::run_on_gpu(paths, kernels) : kiln::run_on_cpu(compiler, paths, kernels);
}
