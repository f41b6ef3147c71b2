// SPDX-License-Identifier: Apache-2.0
// kiln import: copies entries of packs into the cache.
#include "cache/pack_import.h"
#include "tools/command.h"
#include "tools/entry_filter.h"
#include "tools/inspection.h"
#include "tools/json_output.h"
#include "tools/table.h"

#include <memory>

namespace kiln {
namespace {

struct Options {
  std::vector<std::string> packs, trust;
  EntryFilter filter;
};

struct Report {
  std::vector<PackImport> packs;  // in the order of the options
  std::int64_t imported = 0;
  std::int64_t present = 0;
  std::int64_t refused = 0;
  bool is_complete = true;  // no pack failed as a whole
};

Result<Report> import_all(Invocation& invocation, const Options& options, const EntryQuery& query) {
  KILN_TRY_ASSIGN(const PackTrust trust, pack_trust(invocation.environment, options.trust));
  KILN_TRY_ASSIGN(const auto store, create_store(invocation));
  Report report;
  for (const std::string& path : options.packs) {
    const auto pack = Pack::open(path, trust);
    report.packs.push_back(pack.is_ok() ? import_pack(**pack, *store, query)
                                        : PackImport{.status = pack.status()});
    const PackImport& done = report.packs.back();
    report.imported += done.imported;
    report.present += done.present;
    report.refused += done.refused;
    report.is_complete = report.is_complete && done.status.is_ok();
  }
  return report;
}

Json report_json(const Options& options, const Report& report) {
  Json packs = Json::array();
  for (std::size_t i = 0; i < report.packs.size(); ++i) {
    const PackImport& done = report.packs[i];
    Json refusals = Json::array();
    for (const PackImport::Refusal& refusal : done.refusals) {
      refusals.push_back({{"key", refusal.key.empty() ? Json(nullptr) : Json(refusal.key)},
                          {"spec", refusal.spec},
                          {"reason", refusal.reason}});
    }
    packs.push_back({{"path", options.packs[i]},
                     {"imported", done.imported},
                     {"present", done.present},
                     {"refused", done.refused},
                     {"reason", done.status.is_ok() ? Json(nullptr) : Json(done.status.message())},
                     {"refusals", std::move(refusals)}});
  }
  return {{"schema", kJsonSchema},
          {"imported", report.imported},
          {"present", report.present},
          {"refused", report.refused},
          {"packs", std::move(packs)}};
}

std::string report_text(const Report& report) {
  return fmt::format("{} imported, {} already present, {} refused\n", report.imported,
                     report.present, report.refused);
}

void print_refusals(Console& console, const Options& options, const Report& report) {
  for (std::size_t i = 0; i < report.packs.size(); ++i) {
    const PackImport& done = report.packs[i];
    for (const PackImport::Refusal& refusal : done.refusals) {
      console.write_failure(failure(Code::corrupt, "{}: {} {}: {}", options.packs[i],
                                    refusal.key.substr(0, 12), refusal.spec, refusal.reason));
    }
    if (!done.status.is_ok()) console.write_failure(done.status);
  }
}

Result<ExitCode> run(Invocation& invocation, const Options& options) {
  KILN_TRY_ASSIGN(const EntryQuery query, make_query(options.filter));
  KILN_TRY_ASSIGN(const Report report, import_all(invocation, options, query));
  print_refusals(invocation.console, options, report);
  KILN_TRY(invocation.is_json ? write_json(invocation.console, report_json(options, report))
                              : invocation.console.write_output(report_text(report)));
  return report.refused == 0 && report.is_complete ? ExitCode::done : ExitCode::failed;
}

}  // namespace

RunCommand cmd_import(CLI::App& command) {
  const auto options = std::make_shared<Options>();
  command.add_option("pack", options->packs, "the packs to read")->type_name("PACK")->required();
  add_filter_options(command, options->filter);
  command
      .add_option("--trust", options->trust,
                  "take only entries signed by this Ed25519 key, a public one in PEM, or by those "
                  "of KILN_TRUST; repeatable")
      ->type_name("KEY")
      ->allow_extra_args(false);
  return [options](Invocation& invocation) { return run(invocation, *options); };
}

}  // namespace kiln
