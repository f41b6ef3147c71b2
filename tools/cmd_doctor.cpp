// SPDX-License-Identifier: Apache-2.0
// kiln doctor: reports NVRTC, driver, devices, environment and cache.
#include "jit/target.h"
#include "runtime/build_info.h"
#include "tools/command.h"
#include "tools/doctor_report.h"
#include "tools/entry_output.h"
#include "tools/json_output.h"
#include "tools/table.h"

namespace kiln {
namespace {

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Json environment_json(const Invocation& invocation) {
  Json list = Json::array();
  for (const Environment::Entry& entry : invocation.environment.entries()) {
    list.push_back({{"name", entry.name},
                    {"value", entry.value},
                    {"origin", entry.is_set ? "environment" : "default"}});
  }
  return list;
}

Json cache_json(const CacheReport& cache) {
  return {{"directory", cache.directory ? Json(cache.directory->path) : Json(nullptr)},
          {"origin", cache.directory ? Json(cache.directory->origin) : Json(nullptr)},
          {"state", cache_state_name(cache.state)},
          {"reason", cache.reason},
          {"store", cache.store.path},
          {"entries", cache.store.entries},
          {"file_bytes", cache.store.file_bytes},
          {"log_bytes", cache.store.log_bytes},
          {"quarantine_bytes", cache.store.quarantine_bytes},
          {"limit_bytes", cache.store.limit_bytes},
          {"journal_mode", cache.store.journal_mode},
          {"file_system", cache.place ? cache.place->file_system.name : ""},
          {"moved_because", cache.place ? cache.place->moved_because : ""},
          {"file_system_bytes", cache.file_system_bytes},
          {"available_bytes", cache.available_bytes}};
}

Json packs_json(const std::vector<PackReport>& packs) {
  Json list = Json::array();
  for (const PackReport& pack : packs) {
    Json signed_by = Json::array();
    for (const Digest& key : pack.summary.signed_by)
      signed_by.push_back(key.hex());
    list.push_back({{"path", pack.file.path},
                    {"origin", pack.file.origin},
                    {"entries", pack.summary.entries},
                    {"unsigned_entries", pack.summary.unsigned_entries},
                    {"untrusted_entries", pack.summary.untrusted_entries},
                    {"signed_by", std::move(signed_by)},
                    {"reason", pack.reason}});
  }
  return list;
}

std::string pack_text(const PackReport& pack) {
  std::string text = fmt::format("{} (from {}): ", pack.file.path, pack.file.origin);
  if (!pack.reason.empty()) return text + "refused: " + pack.reason;
  const Pack::Summary& summary = pack.summary;
  text += fmt::format("{} entries, {} not signed", summary.entries, summary.unsigned_entries);
  for (const Digest& key : summary.signed_by)
    text += ", signed by " + short_key_name(key);
  if (summary.untrusted_entries == 0) return text;
  return text + fmt::format(", {} not signed by a trusted key", summary.untrusted_entries);
}

Json missing_json(const Status& status) {
  return {{"found", false}, {"reason", status.message()}, {"detail", status.detail()}};
}

Json nvrtc_json(const DoctorReport& report) {
  if (!report.nvrtc.is_ok()) return missing_json(report.nvrtc.status());
  const Nvrtc& nvrtc = **report.nvrtc;
  return {{"found", true},
          {"path", nvrtc.path()},
          {"version", fmt::format("{}.{}", nvrtc.major(), nvrtc.minor())},
          {"origin", report.nvrtc_origin},
          {"toolchain", nvrtc.toolchain().text()},
          {"architectures", nvrtc.supported_architectures()}};
}

Json driver_json(const DoctorReport& report) {
  if (!report.driver_version.is_ok()) return missing_json(report.driver_version.status());
  return {{"found", true}, {"version", version_text(*report.driver_version)}};
}

Json devices_json(const DoctorReport& report) {
  Json list = Json::array();
  if (!report.devices.is_ok()) return list;
  for (const Device& device : *report.devices) {
    list.push_back({{"ordinal", device.ordinal},
                    {"name", device.name},
                    {"compute_capability", device.capability.text()},
                    {"default_target", default_target(device.capability).text()},
                    {"sm_count", device.sm_count}});
  }
  return list;
}

Json templates_json(const DoctorReport& report) {
  if (!report.template_count.is_ok()) {
    return {{"count", 0}, {"reason", report.template_count.status().message()}};
  }
  return {{"count", *report.template_count}, {"reason", ""}};
}

Json report_json(const Invocation& invocation, const DoctorReport& report) {
  return {{"schema", kJsonSchema},
          {"build", build_info()},
          {"environment", environment_json(invocation)},
          {"cache", cache_json(report.cache)},
          {"packs", packs_json(report.packs)},
          {"nvrtc", nvrtc_json(report)},
          {"driver", driver_json(report)},
          {"devices", devices_json(report)},
          {"templates", templates_json(report)}};
}

void add_cache(const CacheReport& cache, FactList& facts) {
  facts.add("cache directory", cache.directory ? fmt::format("{} (from {})", cache.directory->path,
                                                             cache.directory->origin)
                                               : "none");
  const std::string why = cache.reason.empty() ? "" : fmt::format(" ({})", cache.reason);
  facts.add("cache state", fmt::format("{}{}", cache_state_name(cache.state), why));
  if (cache.store.exists) {
    facts.add("store", fmt::format("{}, {} entries, journal mode {}", cache.store.path,
                                   cache.store.entries, cache.store.journal_mode));
    facts.add("size", size_text(cache.store));
  }
  if (cache.place && !cache.place->moved_because.empty()) {
    facts.add("database in",
              fmt::format("{} ({})", cache.place->directory, cache.place->moved_because));
  }
  if (cache.directory) {
    facts.add("file system",
              fmt::format("{}, {}, {} available", cache.place ? cache.place->file_system.name : "?",
                          bytes_text(cache.file_system_bytes), bytes_text(cache.available_bytes)));
  }
}

std::string report_text(const Invocation& invocation, const DoctorReport& report) {
  FactList facts;
  facts.add("build", build_info());
  add_cache(report.cache, facts);
  for (const PackReport& pack : report.packs)
    facts.add("pack", pack_text(pack));
  if (report.nvrtc.is_ok()) {
    const Nvrtc& nvrtc = **report.nvrtc;
    facts.add("nvrtc", fmt::format("{}.{}, {} (from {})", nvrtc.major(), nvrtc.minor(),
                                   nvrtc.path(), report.nvrtc_origin));
    facts.add("toolchain", nvrtc.toolchain().text());
  } else {
    facts.add("nvrtc", fmt::format("missing: {}", report.nvrtc.status().message()));
  }
  facts.add("driver", report.driver_version.is_ok()
                          ? version_text(*report.driver_version)
                          : "missing: " + report.driver_version.status().message());
  if (report.devices.is_ok()) {
    for (const Device& device : *report.devices) {
      facts.add(fmt::format("device {}", device.ordinal),
                fmt::format("{}, compute capability {}, default target {}, {} SMs", device.name,
                            device.capability.text(), default_target(device.capability).text(),
                            device.sm_count));
    }
  } else if (report.driver_version.is_ok()) {
    facts.add("devices", report.devices.status().message());
  }
  facts.add("templates", report.template_count.is_ok()
                             ? std::to_string(*report.template_count)
                             : "unreadable: " + report.template_count.status().message());
  std::string text = facts.text();
  if (!report.nvrtc.is_ok() && !report.nvrtc.status().detail().empty()) {
    text += "\nnvrtc was looked for here:\n" + indented(report.nvrtc.status().detail());
  }
  Table environment({{"VARIABLE"}, {"ORIGIN"}, {"VALUE"}});
  for (const Environment::Entry& entry : invocation.environment.entries()) {
    environment.add_row(
        {std::string(entry.name), entry.is_set ? "environment" : "default", entry.value});
  }
  return text + '\n' + environment.text();
}

Result<ExitCode> run(Invocation& invocation) {
  const DoctorReport report = examine(invocation);
  KILN_TRY(invocation.is_json ? write_json(invocation.console, report_json(invocation, report))
                              : invocation.console.write_output(report_text(invocation, report)));
  return ExitCode::done;
}

}  // namespace

RunCommand cmd_doctor(CLI::App& /*command*/) {
  return run;
}

}  // namespace kiln
