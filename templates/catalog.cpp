// SPDX-License-Identifier: Apache-2.0
#include "templates/catalog.h"

#include "support/files.h"
#include "support/text.h"
#include "templates/embedded.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>

namespace kiln {
namespace {

constexpr std::string_view kSuffix = ".json";
constexpr std::string_view kPrelude = "kiln/";
constexpr std::string_view kEmbedded = "embedded";
constexpr std::size_t kMaxManifestBytes = std::size_t{1} << 20U;
constexpr std::size_t kMaxSourceBytes = std::size_t{16} << 20U;

std::optional<std::string> find_embedded(std::string_view name) {
  for (const EmbeddedFile& file : embedded_kernels()) {
    if (file.name == name) return std::string(file.text);
  }
  return std::nullopt;
}

std::string_view stem_of(std::string_view file) {
  return file.substr(0, file.size() - kSuffix.size());
}

Result<Manifest> read_manifest(std::string_view file, std::string_view text) {
  KILN_TRY_ASSIGN(Manifest manifest, parse_manifest(text));
  if (manifest.name == stem_of(file)) return manifest;
  return failure(Code::invalid_argument, "the name is \"{}\"; allowed, as the file's: {}",
                 manifest.name, in_quotes(stem_of(file)));
}

using Templates = std::vector<std::shared_ptr<const Template>>;
using ReadSource = std::function<Result<std::string>(const std::string& name)>;

Result<std::shared_ptr<const Template>> make_template(Manifest manifest,
                                                      const ReadSource& read,
                                                      const IncludeResolver& resolve,
                                                      const std::string& origin) {
  KILN_TRY_ASSIGN(std::string text, read(manifest.source));
  KILN_TRY_ASSIGN(SourceSet sources, collect_sources({manifest.source, std::move(text)}, resolve));
  return std::make_shared<const Template>(
      Template{std::move(manifest), std::move(sources), origin});
}

// The template of a manifest, and its reference if it has one.
Result<Templates> make_templates(Manifest manifest,
                                 const ReadSource& read,
                                 const IncludeResolver& resolve,
                                 const std::string& origin) {
  Templates loaded;
  if (manifest.reference) {
    auto reference = make_template(reference_manifest(manifest), read, resolve, origin);
    if (!reference.is_ok()) return reference.status().with_context("reference");
    loaded.push_back(*std::move(reference));
  }
  KILN_TRY_ASSIGN(loaded.emplace_back(), make_template(std::move(manifest), read, resolve, origin));
  return loaded;
}

Result<Templates> load_embedded(const EmbeddedFile& file) {
  KILN_TRY_ASSIGN(Manifest manifest, read_manifest(file.name, file.text));
  const auto read = [](const std::string& name) -> Result<std::string> {
    if (auto text = find_embedded(name)) return *std::move(text);
    return failure(Code::not_found, "source \"{}\" is not embedded", name);
  };
  return make_templates(std::move(manifest), read, find_embedded, std::string(kEmbedded));
}

Result<Templates> load_file(const std::string& directory, const std::string& file) {
  KILN_TRY_ASSIGN(const std::string json, read_file(join_path(directory, file), kMaxManifestBytes));
  KILN_TRY_ASSIGN(Manifest manifest, read_manifest(file, json));
  Status unreadable;
  const auto resolve = [&](std::string_view name) -> std::optional<std::string> {
    if (name.starts_with(kPrelude)) return find_embedded(name);
    auto found = read_file(join_path(directory, name), kMaxSourceBytes);
    if (found.is_ok()) return *std::move(found);
    if (found.status().code() != Code::not_found) unreadable = found.status();
    return std::nullopt;
  };
  const auto read = [&](const std::string& name) {
    return read_file(join_path(directory, name), kMaxSourceBytes);
  };
  auto loaded = make_templates(std::move(manifest), read, resolve, directory);
  // Says more than that there is no such file.
  KILN_TRY(unreadable);
  return loaded;
}

// Manifests of a directory in name order, so that the first failure is always the same one.
Result<std::vector<std::string>> list_manifests(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> files;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::string file = entry->path().filename().string();
    // Editors keep their own files under names with a leading dot.
    if (file.starts_with('.') || !file.ends_with(kSuffix)) continue;
    std::error_code status_error;
    if (!entry->is_regular_file(status_error)) {
      return failure(Code::invalid_argument, "{} is no regular file", in_quotes(file));
    }
    files.push_back(std::move(file));
  }
  if (error) {
    const bool is_absent = error == std::errc::no_such_file_or_directory;
    return system_failure(is_absent ? Code::not_found : Code::io, error.value(),
                          "cannot be read, but is in KILN_TEMPLATE_PATH");
  }
  std::sort(files.begin(), files.end());
  return files;
}

Status add(Templates& templates, std::shared_ptr<const Template> added) {
  for (const auto& known : templates) {
    if (known->manifest.name != added->manifest.name) continue;
    return failure(Code::invalid_argument, "the name \"{}\" is taken by a template of {}",
                   known->manifest.name,
                   known->origin == kEmbedded ? "Kiln itself" : in_quotes(known->origin));
  }
  templates.push_back(std::move(added));
  return {};
}

Status add_embedded(Templates& templates) {
  for (const EmbeddedFile& file : embedded_kernels()) {
    if (!file.name.ends_with(kSuffix)) continue;
    auto loaded = load_embedded(file);
    if (!loaded.is_ok()) return loaded.status().with_context(file.name);
    for (auto& added : *loaded)
      KILN_TRY(add(templates, std::move(added)).with_context(file.name));
  }
  return {};
}

Status add_directory(Templates& templates, const std::string& directory) {
  const std::string where = "template directory " + in_quotes(directory);
  auto files = list_manifests(directory);
  if (!files.is_ok()) return files.status().with_context(where);
  for (const std::string& file : *files) {
    const std::string path = in_quotes(join_path(directory, file));
    auto loaded = load_file(directory, file);
    if (!loaded.is_ok()) return loaded.status().with_context(path);
    for (auto& added : *loaded)
      KILN_TRY(add(templates, std::move(added)).with_context(path));
  }
  return {};
}

}  // namespace

Result<Catalog> Catalog::open(const std::vector<std::string>& user_directories) {
  Catalog catalog;
  KILN_TRY(add_embedded(catalog.templates_));
  for (const std::string& directory : user_directories) {
    KILN_TRY(add_directory(catalog.templates_, directory));
  }
  std::sort(catalog.templates_.begin(), catalog.templates_.end(),
            [](const auto& a, const auto& b) { return a->manifest.name < b->manifest.name; });
  return catalog;
}

Result<std::shared_ptr<const Template>> Catalog::find(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const auto& candidate : templates_) {
    if (candidate->manifest.name == name) return candidate;
    names.push_back(candidate->manifest.name);
  }
  return failure(Code::not_found, "template {} is not known; known: {}", in_quotes(name),
                 joined(names, ", "));
}

}  // namespace kiln
