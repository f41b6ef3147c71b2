// SPDX-License-Identifier: Apache-2.0
#include "tools/bench_report.h"

#include "tools/table.h"

#include <algorithm>
#include <cmath>

namespace kiln {
namespace {

// All launches of one forward pass.
struct ModelTotal {
  std::string name;
  std::int64_t launches = 0;
  double kernel_us = 0;
  double copy_us = 0;
  std::int64_t not_measured = 0;  // sites; not in the sums
};

std::vector<ModelTotal> totals_of(const BenchReport& report) {
  std::vector<ModelTotal> totals;
  for (const CaseUse& use : report.uses) {
    if (use.model.empty()) continue;
    auto total = std::find_if(totals.begin(), totals.end(),
                              [&](const ModelTotal& each) { return each.name == use.model; });
    if (total == totals.end()) total = totals.insert(totals.end(), ModelTotal{.name = use.model});
    const Result<Measurement>& measured = report.measured[use.index];
    if (!measured.is_ok()) {
      ++total->not_measured;
      continue;
    }
    const auto times = static_cast<double>(use.per_forward);
    total->launches += use.per_forward;
    total->kernel_us += times * measured->kernel_us;
    total->copy_us += times * measured->copy_us();
  }
  return totals;
}

// Of the model's time, what this use takes; 0 for none.
double share_of(const CaseUse& use, double us, const std::vector<ModelTotal>& totals) {
  const auto total = std::find_if(totals.begin(), totals.end(),
                                  [&](const ModelTotal& each) { return each.name == use.model; });
  if (total == totals.end() || total->kernel_us <= 0) return 0;
  return us * static_cast<double>(use.per_forward) / total->kernel_us;
}

// More digits would be noise.
double rounded(double value) {
  return std::round(value * 1000) / 1000;
}

Json use_json(const CaseUse& use,
              const BenchReport& report,
              const std::vector<ModelTotal>& totals) {
  const KernelCase& each = report.cases[use.index];
  const Result<Measurement>& measured = report.measured[use.index];
  const bool has_model = !use.model.empty();
  Json json = {{"spec", each.variant.spec()},
               {"shape", integers_json(each.integers)},
               {"model", has_model ? Json(use.model) : Json(nullptr)},
               {"site", has_model ? Json(use.site) : Json(nullptr)},
               {"per_forward", has_model ? Json(use.per_forward) : Json(nullptr)},
               {"failure", status_json(measured.status())}};
  if (!measured.is_ok()) return json;
  json["us"] = rounded(measured->kernel_us);
  json["copy_us"] = rounded(measured->copy_us());
  json["memcpy_us"] = rounded(measured->memcpy_us);
  json["copy_kernel_us"] = rounded(measured->copy_kernel_us);
  json["ratio"] = rounded(measured->ratio());
  json["gb_per_s"] = rounded(measured->gb_per_s());
  json["share"] =
      has_model ? Json(rounded(share_of(use, measured->kernel_us, totals))) : Json(nullptr);
  json["moved_bytes"] = measured->moved_bytes;
  json["sets"] = measured->sets;
  json["launches"] = measured->launches;
  return json;
}

std::vector<std::string> cells(const CaseUse& use,
                               const BenchReport& report,
                               const std::vector<ModelTotal>& totals) {
  const KernelCase& each = report.cases[use.index];
  const Result<Measurement>& measured = report.measured[use.index];
  std::vector<std::string> row = {each.spec, each.shape};
  if (measured.is_ok()) {
    row.insert(
        row.end(),
        {fmt::format("{:.1f}", measured->kernel_us), fmt::format("{:.1f}", measured->copy_us()),
         fmt::format("{:.3f}", measured->ratio()), fmt::format("{:.0f}", measured->gb_per_s())});
  } else {
    row.insert(row.end(), {"failed", "", "", ""});
  }
  if (use.model.empty()) {
    row.insert(row.end(), {"", ""});
  } else {
    const double us = measured.is_ok() ? measured->kernel_us : 0;
    row.insert(row.end(), {std::to_string(use.per_forward),
                           fmt::format("{:.1f} %", 100 * share_of(use, us, totals))});
  }
  return row;
}

std::string total_text(const ModelTotal& total) {
  std::string text =
      fmt::format("{}: {} launches of a forward take {:.2f} ms, copies {:.2f} ms", total.name,
                  total.launches, total.kernel_us / 1000, total.copy_us / 1000);
  if (total.not_measured > 0) text += fmt::format("; {} sites not measured", total.not_measured);
  return text + '\n';
}

}  // namespace

Json bench_json(const BenchReport& report) {
  const std::vector<ModelTotal> totals = totals_of(report);
  Json results = Json::array();
  for (const CaseUse& use : report.uses)
    results.push_back(use_json(use, report, totals));
  Json models = Json::array();
  for (const ModelTotal& total : totals) {
    models.push_back({{"name", total.name},
                      {"launches", total.launches},
                      {"us", rounded(total.kernel_us)},
                      {"copy_us", rounded(total.copy_us)},
                      {"not_measured", total.not_measured}});
  }
  return {{"schema", kJsonSchema},
          {"device", report.device_name},
          {"repeat", report.replays},
          {"results", std::move(results)},
          {"models", std::move(models)}};
}

std::string bench_text(const BenchReport& report) {
  using Align = Table::Align;
  Table table({{"SPEC"},
               {"SHAPE"},
               {"US", Align::right},
               {"COPY US", Align::right},
               {"RATIO", Align::right},
               {"GB/S", Align::right},
               {"PER FORWARD", Align::right},
               {"SHARE", Align::right}});
  const std::vector<ModelTotal> totals = totals_of(report);
  for (const CaseUse& use : report.uses)
    table.add_row(cells(use, report, totals));
  std::string text = table.text();
  if (!totals.empty()) text += '\n';
  for (const ModelTotal& total : totals)
    text += total_text(total);
  return text;
}

}  // namespace kiln
