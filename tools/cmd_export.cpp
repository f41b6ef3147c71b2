// SPDX-License-Identifier: Apache-2.0
// kiln export: copies entries of the cache into a pack.
#include "cache/pack_writer.h"
#include "tools/command.h"
#include "tools/entry_filter.h"
#include "tools/inspection.h"
#include "tools/json_output.h"
#include "tools/table.h"

#include <filesystem>
#include <memory>

namespace kiln {
namespace {

struct Options {
  std::string pack;
  EntryFilter filter;
  std::optional<std::string> sign;
  bool may_replace = false;
};

Result<WrittenPack> write(Store& store,
                          const EntryQuery& query,
                          const Options& options,
                          const SigningKey* signer) {
  KILN_TRY_ASSIGN(const std::vector<EntryRow> rows, store.list(query));
  if (rows.empty()) return failure(Code::not_found, "the cache has no such entry");
  const std::filesystem::path path(options.pack);
  PackRequest request{
      .directory = path.has_parent_path() ? path.parent_path().string() : ".",
      .name = path.filename().string(),
      .keys = {},
      .signer = signer,
      .may_replace = options.may_replace,
  };
  for (const EntryRow& row : rows)
    request.keys.push_back(row.facts.key);
  return write_pack(store, std::move(request));
}

Json report_json(const WrittenPack& written, const SigningKey* signer) {
  return {{"schema", kJsonSchema},
          {"pack", written.path},
          {"entries", written.entries},
          {"left_out", written.left_out},
          {"file_bytes", written.file_bytes},
          {"signed_by", signer == nullptr ? Json(nullptr) : Json(signer->sha256().hex())}};
}

std::string report_text(const WrittenPack& written, const SigningKey* signer) {
  const std::string left_out =
      written.left_out == 0 ? "" : fmt::format("; {} left out: damaged", written.left_out);
  return fmt::format(
      "{}: {} entries, {}, {}{}\n", printable(written.path), written.entries,
      bytes_text(written.file_bytes),
      signer == nullptr ? "not signed" : "signed by " + short_key_name(signer->sha256()), left_out);
}

Result<ExitCode> run(Invocation& invocation, const Options& options) {
  KILN_TRY_ASSIGN(const EntryQuery query, make_query(options.filter));
  if (std::filesystem::path(options.pack).filename().empty()) {
    return failure(Code::invalid_argument, "the pack's path ends without a name");
  }
  std::optional<SigningKey> signer;
  if (const auto& key = options.sign ? options.sign : invocation.environment.sign_key) {
    KILN_TRY_ASSIGN(signer, SigningKey::read(*key));
  }
  KILN_TRY_ASSIGN(const auto store, inspect_store(invocation));
  if (store == nullptr) return failure(Code::not_found, "there is no cache");
  const SigningKey* key = signer ? &*signer : nullptr;
  const auto written = write(*store, query, options, key);
  if (written.status().code() == Code::invalid_argument && !options.may_replace) {
    return failure(Code::invalid_argument, "{}; --force replaces it", written.status().message());
  }
  KILN_TRY(written.status());
  KILN_TRY(invocation.is_json ? write_json(invocation.console, report_json(*written, key))
                              : invocation.console.write_output(report_text(*written, key)));
  return ExitCode::done;
}

}  // namespace

RunCommand cmd_export(CLI::App& command) {
  const auto options = std::make_shared<Options>();
  command.add_option("pack", options->pack, "the file to write, as kernels.kpack")
      ->type_name("PACK")
      ->required();
  add_filter_options(command, options->filter);
  command
      .add_option("--sign", options->sign,
                  "sign each entry with this Ed25519 private key in PEM; KILN_SIGN_KEY if left out")
      ->type_name("KEY");
  command.add_flag("--force", options->may_replace, "replace a file that has this name");
  return [options](Invocation& invocation) { return run(invocation, *options); };
}

}  // namespace kiln
