// SPDX-License-Identifier: Apache-2.0
#pragma once

// A template with all parameters fixed, checked and in canonical form. Two specs that mean the
// same kernel give equal variants, whatever the order, defaults and spelling used.

#include "support/compute_capability.h"
#include "templates/catalog.h"
#include "templates/spec.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kiln {

class Variant {
 public:
  // invalid_argument names the parameter, its value and what is allowed; also for a broken
  // constraint, with its reason.
  static Result<Variant> make(std::shared_ptr<const Template> source, const ParameterList& given);
  // parse_spec, find and make in one. Adds not_found for an unknown template.
  static Result<Variant> parse(const Catalog& catalog, std::string_view spec);

  const Template& source() const { return *source_; }
  const Manifest& manifest() const { return source_->manifest; }
  // Every parameter of the manifest, in its order, as canonical text.
  const ParameterList& parameters() const { return parameters_; }
  // "layernorm_modulate:hidden=6144,out=bf16+e4m3,…" with every parameter.
  std::string spec() const;

 private:
  std::shared_ptr<const Template> source_;
  ParameterList parameters_;
};

struct LaunchShape {
  std::int64_t grid[3] = {1, 1, 1};
  std::int64_t block = 1;
  std::int64_t shared_bytes = 0;
};

// Values of a kernel's integer arguments by name.
using IntegerArguments = std::vector<std::pair<std::string, std::int64_t>>;

// A variant as one compute capability gets it: tuned, with its C++ name.
struct Specialization {
  std::string name_expression;  // kiln::layernorm_modulate<6144, kiln::Out::bf16 | …, 128, 4>
  std::vector<std::pair<std::string, std::int64_t>> tuning;
  // In manifest order: the bytes that a pointer argument's address must be a multiple of, or the
  // number that an integer argument must be a multiple of; 1 for a float.
  std::vector<std::int64_t> multiple_of;
  // Whether each argument is used by this variant.
  std::vector<bool> is_used;
};

// Whether the variant's code may spill registers.
bool may_spill(const Variant& variant);

// A pointer argument's element type in this variant; empty for other arguments.
std::string_view dtype_of(const Variant& variant, const KernelArgument& argument);

// unsupported if the capability is below the manifest's least target, with the reason.
Result<Specialization> specialize(const Variant& variant, ComputeCapability capability);

// The manifest's launch rule for given integer arguments (missing ones are invalid_argument) on a
// device with `sm_count` multiprocessors.
Result<LaunchShape> launch_shape(const Variant& variant,
                                 const Specialization& specialization,
                                 const IntegerArguments& arguments,
                                 int sm_count);

}  // namespace kiln
