// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the memory behind a launch's pointers says about them. Costs driver calls, so a launch does
// it only when it is asked to.

#include "runtime/launch.h"
#include "runtime/module.h"
#include "support/status.h"
#include "templates/variant.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace kiln {

struct Allocation {
  int device = 0;  // ordinal
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

class MemoryInspector {
 public:
  virtual ~MemoryInspector() = default;
  // invalid_argument: nothing that a device can reach.
  virtual Result<Allocation> allocation(std::uint64_t address) const = 0;
  virtual Result<float> read_float(std::uint64_t address) const = 0;
};

// Of a driver, in the current context. Reading waits for what was launched before on the default
// stream.
class DriverMemory : public MemoryInspector {
 public:
  explicit DriverMemory(const Driver& driver) : driver_(driver) {}
  Result<Allocation> allocation(std::uint64_t address) const override;
  Result<float> read_float(std::uint64_t address) const override;

 private:
  const Driver& driver_;
};

// `arguments` have passed check_arguments(). invalid_argument names the argument: a stride below
// zero, memory of another device or of none, a tensor that reaches beyond its allocation, an output
// where another tensor lies (but in the place that the manifest allows), a scale that is not finite
// and above zero. unsupported: a manifest that does not say an argument's shape.
Status check_memory(const Variant& variant,
                    std::span<const Argument> arguments,
                    int device,
                    const MemoryInspector& memory);

}  // namespace kiln
