// SPDX-License-Identifier: Apache-2.0
// kiln show: everything about one entry, and its image.
#include "jit/key.h"
#include "jit/target.h"
#include "support/files.h"
#include "support/text.h"
#include "templates/variant.h"
#include "tools/command.h"
#include "tools/entry_output.h"
#include "tools/inspection.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace kiln {
namespace {

constexpr mode_t kImageMode = 0666;  // less the caller's umask

struct Options {
  std::string entry;
  std::optional<std::string> target, image;
};

// Every entry that key prefix or spec may mean.
Result<std::vector<EntryRow>> find_entries(const Invocation& invocation,
                                           const Options& options,
                                           const Result<Catalog>& catalog) {
  EntryQuery query;
  query.order = EntryOrder::created;
  if (options.target) {
    KILN_TRY_ASSIGN(const Target target, parse_target(*options.target));
    query.target = target.text();
  }
  std::optional<std::string> spec;
  if (is_key_prefix(options.entry) && !(catalog.is_ok() && catalog->find(options.entry).is_ok())) {
    query.key_prefix = options.entry;
  } else {
    KILN_TRY(catalog.status());
    KILN_TRY_ASSIGN(const Variant variant, Variant::parse(*catalog, options.entry));
    query.template_name = variant.manifest().name;
    spec = variant.spec();
  }
  KILN_TRY_ASSIGN(const auto store, inspect_store(invocation));
  std::vector<EntryRow> rows;
  if (store != nullptr) {
    KILN_TRY_ASSIGN(rows, store->list(query));
  }
  std::erase_if(rows, [&](const EntryRow& row) { return spec && row.facts.spec != *spec; });
  return rows;
}

Result<EntryRow> find_entry(const Invocation& invocation,
                            const Options& options,
                            const Result<Catalog>& catalog) {
  KILN_TRY_ASSIGN(std::vector<EntryRow> rows, find_entries(invocation, options, catalog));
  const std::string wanted =
      in_quotes(options.entry) + (options.target ? " for " + *options.target : std::string());
  if (rows.empty()) return failure(Code::not_found, "the cache has no entry for {}", wanted);
  if (rows.size() == 1) return std::move(rows.front());
  std::string candidates;
  for (const EntryRow& row : rows) {
    candidates +=
        fmt::format("{}  {}  {}\n", row.facts.key.hex(), row.facts.target, row.facts.spec);
  }
  return Status({.code = Code::invalid_argument,
                 .message = fmt::format("{} means {} entries; give more of a key, or --target",
                                        wanted, rows.size()),
                 .detail = std::move(candidates)});
}

// The manifest's name for each kernel parameter, as far as the two agree.
std::vector<std::string> argument_names(const Result<Catalog>& catalog,
                                        const std::string& template_name,
                                        std::size_t count) {
  std::vector<std::string> names;
  if (catalog.is_ok()) {
    if (const auto found = catalog->find(template_name); found.is_ok()) {
      for (const KernelArgument& argument : (*found)->manifest.arguments) {
        names.push_back(argument.name);
      }
    }
  }
  if (names.size() != count) names.clear();
  names.resize(count);
  return names;
}

Json layout_json(const EntryFacts& facts, const Result<Catalog>& catalog) {
  const Json layout = Json::parse(facts.layout, nullptr, false);
  Json parameters = Json::array();
  if (!layout.is_array()) return parameters;
  const auto names = argument_names(catalog, facts.template_name, layout.size());
  for (std::size_t i = 0; i < layout.size(); ++i) {
    const Json& pair = layout[i];
    if (!pair.is_array() || pair.size() != 2) continue;
    parameters.push_back({{"name", names[i].empty() ? Json(nullptr) : Json(names[i])},
                          {"offset_bytes", pair[0]},
                          {"size_bytes", pair[1]}});
  }
  return parameters;
}

Json details_json(const EntryRow& row, const Result<Catalog>& catalog) {
  const EntryFacts& facts = row.facts;
  Json json = entry_json(row);
  json["request"] = facts.request.hex();
  const Json key_fields = Json::parse(facts.key_fields, nullptr, false);
  json["key_fields"] = key_fields.is_discarded() ? Json(nullptr) : key_fields;
  json["layout"] = layout_json(facts, catalog);
  json["log"] = facts.log;
  return json;
}

std::string details_text(const EntryRow& row, const Result<Catalog>& catalog) {
  const EntryFacts& facts = row.facts;
  const Resources& resources = facts.resources;
  FactList list;
  list.add("key", facts.key.hex());
  list.add("spec", facts.spec);
  list.add("target", facts.target);
  list.add("image", fmt::format("{}, stored in {}", bytes_text(facts.image_bytes),
                                bytes_text(row.stored_bytes)));
  list.add("registers", std::to_string(resources.registers));
  list.add("shared memory", bytes_text(resources.shared_bytes));
  list.add("local memory", bytes_text(resources.local_bytes));
  list.add("spills", fmt::format("{} stored, {} loaded", bytes_text(resources.spill_store_bytes),
                                 bytes_text(resources.spill_load_bytes)));
  list.add("compile time", duration_text(facts.compile_us));
  list.add("created", time_text(facts.created_at));
  list.add("last used", time_text(row.last_used_at));
  list.add("hits", std::to_string(row.hits));
  list.add("pinned", row.is_pinned ? "yes" : "no");
  list.add("toolchain", facts.toolchain);
  list.add("lowered name", facts.lowered_name);
  list.add("request", facts.request.hex());
  const auto fields = KeyFields::from_json(facts.key_fields);
  if (fields.is_ok()) {
    list.add("kernel", fields->name_expression);
    list.add("options", joined(fields->options, " "));
    for (const auto& [name, digest] : fields->sources)
      list.add("source " + name, digest.hex());
  } else {
    list.add("key fields", fields.status().message());
  }
  std::string text = list.text();
  const Json layout = layout_json(facts, catalog);
  Table table({{"ARGUMENT"}, {"OFFSET", Table::Align::right}, {"SIZE", Table::Align::right}});
  for (const Json& parameter : layout) {
    const Json& name = parameter["name"];
    table.add_row({name.is_string() ? name.get<std::string>() : "-",
                   parameter["offset_bytes"].dump(), parameter["size_bytes"].dump()});
  }
  if (!layout.empty()) text += '\n' + table.text();
  if (!facts.log.empty()) text += "\nlog:\n" + indented(facts.log);
  return text;
}

Status write_image(const Invocation& invocation, const Digest& key, const std::string& path) {
  KILN_TRY_ASSIGN(const auto store, inspect_store(invocation));
  std::optional<Store::Found> found;
  if (store != nullptr) {
    KILN_TRY_ASSIGN(found, store->find(key));
  }
  if (!found) {
    return failure(Code::corrupt, "the entry is damaged, so its image was not written");
  }
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kImageMode));
  if (!file) return system_failure(Code::io, errno, path);
  const Status status = write_all(file.get(), found->image);
  return status.with_context(path);
}

Result<ExitCode> run(Invocation& invocation, const Options& options) {
  const Result<Catalog> catalog = Catalog::open(invocation.environment.template_path);
  KILN_TRY_ASSIGN(const EntryRow row, find_entry(invocation, options, catalog));
  if (options.image) KILN_TRY(write_image(invocation, row.facts.key, *options.image));
  if (invocation.is_json) {
    KILN_TRY(write_json(invocation.console,
                        {{"schema", kJsonSchema}, {"entry", details_json(row, catalog)}}));
    return ExitCode::done;
  }
  KILN_TRY(invocation.console.write_output(details_text(row, catalog)));
  return ExitCode::done;
}

}  // namespace

RunCommand cmd_show(CLI::App& command) {
  const auto options = std::make_shared<Options>();
  command.add_option("entry", options->entry, "the start of a key, or a spec")
      ->type_name("KEY|SPEC")
      ->required();
  command.add_option("--target", options->target, "of the entries for this target, e.g. sm_90a")
      ->type_name("TARGET");
  command.add_option("--image", options->image, "also write the verified image (cubin) here")
      ->type_name("FILE");
  return [options](Invocation& invocation) { return run(invocation, *options); };
}

}  // namespace kiln
