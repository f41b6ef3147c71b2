// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a template's JSON manifest says: parameters and their ranges, kernel arguments, the least
// target, tuning and the launch rule. docs/templates.md is the format's reference. Immutable after
// parsing; knows nothing of sources, files or compilers.

#include "templates/condition.h"
#include "templates/extent.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

enum class ParameterType { integer, real, boolean, choice, set };

struct Parameter {
  std::string name;
  ParameterType type = ParameterType::integer;
  std::string description;
  std::optional<std::string> default_value;  // canonical text; none: must be given
  std::vector<std::string> values;           // allowed; for choice and set in canonical order
  std::string cpp;                           // choice and set: C++ scope of the values ("Out")
  std::optional<std::int64_t> min, max, multiple_of;  // integer
  std::optional<double> real_min, real_max;           // real
  // Where this does not hold the parameter cannot matter, and its canonical value is the default.
  Condition relevant_when;
};

enum class ArgumentKind { pointer, int32, int64, float32 };

// A pointer argument's element type: the first rule that holds gives it.
struct DtypeRule {
  Condition when;
  std::string dtype;  // bf16, f16, f32, e4m3, e5m2, u8, i32, i64, or a choice of these by its name
};

// A pointer argument's dimensions, the outermost first, of integer arguments and parameters:
// likewise.
struct ShapeRule {
  Condition when;
  std::vector<Extent> extents;
};

struct KernelArgument {
  std::string name;
  ArgumentKind kind = ArgumentKind::pointer;
  std::string description;
  Condition used_when;  // elsewhere the argument must be null or 0

  // pointer
  std::vector<DtypeRule> dtype;
  bool is_output = false;    // written by the kernel
  bool is_positive = false;  // a scale: finite and above zero
  std::string in_place_of;   // the input in whose place an output may be written; empty: none
  // Elements that one access covers; the address must be a multiple of that many elements.
  Extent vector = 1;
  std::vector<ShapeRule> shape;  // none: unknown to all but the kernel
  std::vector<Extent> strides;   // elements, of the first dimensions; the others are dense

  // int32, int64
  std::optional<std::int64_t> min;
  Extent multiple_of = 1;
  std::optional<std::int64_t> example;  // a typical value, for checks and benchmarks
};

// One dimension of the grid: ceil(over / per_block) blocks, at most blocks_per_sm per SM where that
// is given (the kernel then loops), and at most `max`.
struct GridRule {
  Extent over = 1;                      // of integer arguments
  Extent per_block = 1;                 // of parameters and tuning values
  std::optional<Extent> blocks_per_sm;  // likewise; none: no cap
  std::int64_t max = 0;                 // 0: the driver's limit
};

// The driver's limits of a grid.
inline constexpr std::array<std::int64_t, 3> kMaxGrid = {2147483647, 65535, 65535};

struct LaunchRule {
  Extent block = 1;            // threads; of parameters and tuning values
  std::vector<GridRule> grid;  // x, y, z; 1 to 3
  Extent shared_bytes = 0;     // dynamic shared memory; likewise
};

struct TuningRule {
  Condition when;
  std::vector<std::pair<std::string, std::int64_t>> values;
};

struct TargetRule {
  Condition when;
  ComputeCapability least;
  std::string reason;
};

struct Constraint {
  Condition when;
  Condition require;
  std::string reason;
};

// A second kernel that does the same one step at a time, to compare with. It has the template's
// parameters and arguments.
struct ReferenceKernel {
  std::string source;
  std::string entry;
  std::vector<std::string> instantiation;  // parameter names
  LaunchRule launch;
};

struct Manifest {
  std::string name;
  std::string description;
  std::string source;                      // file name of the kernel source
  std::string entry;                       // qualified C++ name of the kernel template
  std::vector<std::string> instantiation;  // its template arguments: parameter or tuning names
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;
  std::vector<TargetRule> least_target;
  std::vector<TuningRule> tuning;  // for each name, the first rule that holds gives the value
  std::vector<KernelArgument> arguments;
  LaunchRule launch;
  // Where registers may spill; elsewhere a variant that does is an error. None: nowhere.
  std::optional<Condition> spills = Condition{};
  std::optional<ReferenceKernel> reference;

  const Parameter* find_parameter(std::string_view parameter) const;
};

// Bytes of one element; 0 for an unknown dtype.
std::int64_t dtype_bytes(std::string_view dtype);

// The manifest of NAME_reference, a template like any other. `manifest` has a reference.
Manifest reference_manifest(const Manifest& manifest);
std::string reference_name(std::string_view template_name);

// As manifests spell them: "integer", "pointer", ….
std::string_view type_name(ParameterType type);
std::string_view kind_name(ArgumentKind kind);

// invalid_argument: what is wrong and where, including every name that refers to nothing.
Result<Manifest> parse_manifest(std::string_view text);

}  // namespace kiln
