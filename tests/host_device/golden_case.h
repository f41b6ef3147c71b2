// SPDX-License-Identifier: Apache-2.0
#pragma once

// One file of golden vectors as a list of launches and what each must write. Knows nothing of where
// variants run. docs/golden-vectors.md is the format's reference.

#include "templates/catalog.h"
#include "tests/host_device/backend.h"
#include "tests/host_device/device_values.h"
#include "tests/support/safetensors.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace kiln {

struct Comparison {
  std::string name;
  std::int64_t mismatches = 0;
  std::int64_t count = 0;
};

struct GoldenOutput {
  std::string name;  // as in the file
  std::vector<std::byte> expected;
  std::vector<std::byte> actual;  // as large as `expected`, filled with 0xCD
  std::size_t element_bytes = 1;

  // Bit by bit, after the variant ran.
  Comparison compare() const;
};

struct GoldenRun {
  Variant variant;
  KernelArguments arguments;  // point into the case's inputs and the outputs' `actual`
  std::vector<std::unique_ptr<GoldenOutput>> outputs;
  bool uses_div_full = false;
};

struct GoldenCase {
  std::map<std::string, std::vector<std::byte>> inputs;
  std::vector<GoldenRun> runs;
  // The file's row statistics against a replay: the mean exactly, rstd within 1 ulp of the
  // correctly rounded value, which is as near as a GPU comes. Empty if the file has none.
  std::vector<Comparison> statistics;
  host::DeviceValues device_values;  // those that the file has
};

// invalid_argument names what the file lacks, or has of a wrong type or shape; unsupported for an
// op that no template serves.
Result<GoldenCase> make_golden_case(const Catalog& catalog, const Safetensors& file);

}  // namespace kiln
