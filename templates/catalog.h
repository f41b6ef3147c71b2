// SPDX-License-Identifier: Apache-2.0
#pragma once

// All templates that can be asked for: the embedded ones and those of user directories (files
// NAME.json with the source beside it). A user template may include the embedded prelude
// (kiln/….cuh) and files of its own directory; it may not take an embedded template's name.
// Immutable once open, shared by threads.

#include "support/status.h"
#include "templates/manifest.h"
#include "templates/source.h"

#include <memory>
#include <string>
#include <string_view>
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
  // names the file; nothing is skipped in silence.
  static Result<Catalog> open(const std::vector<std::string>& user_directories);

  // not_found lists the names there are.
  Result<std::shared_ptr<const Template>> find(std::string_view name) const;
  // Sorted by name.
  const std::vector<std::shared_ptr<const Template>>& templates() const { return templates_; }

 private:
  std::vector<std::shared_ptr<const Template>> templates_;
};

}  // namespace kiln
