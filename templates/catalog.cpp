// SPDX-License-Identifier: Apache-2.0
#include "templates/catalog.h"

#include "support/files.h"
#include "support/text.h"
#include "templates/embedded.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <mutex>
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

constexpr std::string_view kReferenceSuffix = "_reference";

// The embedded manifest that NAME or NAME_reference comes from.
const EmbeddedFile* find_embedded_manifest(std::string_view name) {
  if (name.ends_with(kReferenceSuffix)) name.remove_suffix(kReferenceSuffix.size());
  for (const EmbeddedFile& file : embedded_kernels()) {
    if (file.name.ends_with(kSuffix) && stem_of(file.name) == name) return &file;
  }
  return nullptr;
}

Status add(Templates& templates, std::shared_ptr<const Template> added) {
  const std::string& name = added->manifest.name;
  for (const auto& known : templates) {
    if (known->manifest.name != name) continue;
    return failure(Code::invalid_argument, "the name \"{}\" is taken by a template of {}", name,
                   in_quotes(known->origin));
  }
  if (find_embedded_manifest(name) != nullptr) {
    return failure(Code::invalid_argument, "the name \"{}\" is taken by a template of Kiln itself",
                   name);
  }
  templates.push_back(std::move(added));
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

std::shared_ptr<const Template> find_in(const Templates& templates, std::string_view name) {
  const auto found = std::find_if(templates.begin(), templates.end(), [&](const auto& candidate) {
    return candidate->manifest.name == name;
  });
  return found == templates.end() ? nullptr : *found;
}

}  // namespace

struct Catalog::Loaded {
  std::mutex mutex;
  Templates templates;  // the user's, and the embedded ones that were asked for

  // Null if there is no such template. With the mutex held.
  Result<std::shared_ptr<const Template>> find(std::string_view name) {
    if (auto known = find_in(templates, name)) return known;
    const EmbeddedFile* file = find_embedded_manifest(name);
    if (file == nullptr || find_in(templates, stem_of(file->name)) != nullptr) {
      return std::shared_ptr<const Template>();
    }
    auto loaded = load_embedded(*file);
    if (!loaded.is_ok()) return loaded.status().with_context(file->name);
    templates.insert(templates.end(), loaded->begin(), loaded->end());
    return find_in(*loaded, name);
  }

  Status load_all() {
    for (const EmbeddedFile& file : embedded_kernels()) {
      if (file.name.ends_with(kSuffix)) KILN_TRY(find(stem_of(file.name)).status());
    }
    std::sort(templates.begin(), templates.end(),
              [](const auto& a, const auto& b) { return a->manifest.name < b->manifest.name; });
    return {};
  }
};

Result<Catalog> Catalog::open(const std::vector<std::string>& user_directories) {
  auto loaded = std::make_shared<Loaded>();
  for (const std::string& directory : user_directories) {
    KILN_TRY(add_directory(loaded->templates, directory));
  }
  return Catalog(std::move(loaded));
}

Result<Templates> Catalog::templates() const {
  const std::lock_guard lock(loaded_->mutex);
  KILN_TRY(loaded_->load_all());
  return loaded_->templates;
}

Result<std::shared_ptr<const Template>> Catalog::find(std::string_view name) const {
  const std::lock_guard lock(loaded_->mutex);
  KILN_TRY_ASSIGN(auto found, loaded_->find(name));
  if (found != nullptr) return found;
  KILN_TRY(loaded_->load_all());
  std::vector<std::string_view> names;
  for (const auto& known : loaded_->templates)
    names.push_back(known->manifest.name);
  return failure(Code::not_found, "template {} is not known; known: {}", in_quotes(name),
                 joined(names, ", "));
}

}  // namespace kiln
