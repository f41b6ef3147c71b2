// SPDX-License-Identifier: Apache-2.0
#pragma once

// All templates that can be asked for: the embedded ones and those of user directories (files
// NAME.json with the source beside it). A user template may include the embedded prelude
// (kiln/….cuh) and files of its own directory; it may not take an embedded template's name.
// Copies share what is loaded; thread-safe.

#include "support/status.h"
#include "templates/manifest.h"
#include "templates/source.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln {

struct Template {
  Manifest manifest;
  SourceSet sources;
  std::string origin;  // "embedded" or the directory; for people, never part of a key
};

class Catalog {
 public:
  // A directory that cannot be read, a damaged manifest or a name taken twice is a failure that
  // names the file; nothing is skipped in silence. Embedded templates are parsed when first asked
  // for: opening a catalog is on the way to the first kernel of a process.
  static Result<Catalog> open(const std::vector<std::string>& user_directories);

  // not_found lists the names there are.
  Result<std::shared_ptr<const Template>> find(std::string_view name) const;
  // Sorted by name. The failure is a defect of an embedded manifest.
  Result<std::vector<std::shared_ptr<const Template>>> templates() const;

 private:
  struct Loaded;
  explicit Catalog(std::shared_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}

  std::shared_ptr<Loaded> loaded_;  // shared by copies, guarded by its own lock
};

}  // namespace kiln
