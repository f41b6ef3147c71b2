// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs one variant once, wherever: what the comparison of outputs needs to know of a machine.

#include "support/status.h"
#include "templates/variant.h"

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace kiln {

// Values for a kernel's arguments, by name. A pointer argument that is not here is null.
struct KernelArguments {
  // Memory of the caller's. A backend with memory of its own copies it there, keeping the address
  // modulo 256, and back.
  std::vector<std::pair<std::string, std::span<std::byte>>> pointers = {};
  IntegerArguments integers = {};
  std::vector<std::pair<std::string, float>> reals = {};
};

class Backend {
 public:
  Backend() = default;
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  // invalid_argument for arguments that the variant does not take; else what compiling or running
  // it failed with.
  virtual Status run(const Variant& variant, const KernelArguments& arguments) = 0;
  // Whether a GPU runs them, with its own division and reciprocal square root.
  virtual bool is_device() const = 0;
};

}  // namespace kiln
