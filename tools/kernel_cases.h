// SPDX-License-Identifier: Apache-2.0
#pragma once

// What `kiln check` and `kiln bench` run: variants with values for their integer arguments, from
// specs and models of the command line. Everything is checked here, before anything runs.

#include "templates/catalog.h"
#include "templates/tensor.h"
#include "templates/variant.h"
#include "tools/json_output.h"

#include <CLI/App.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

struct CaseRequest {
  std::vector<std::string> specs;
  std::vector<std::string> models;
  std::vector<std::string> shapes;  // "rows=4096,batches=1", for the specs
  std::optional<std::string> device;
};

struct KernelCase {
  Variant variant;
  IntegerArguments integers;  // complete
  std::string spec;           // as it was given first
  std::string shape;          // "rows=4096 batches=1": what was given, or has a typical value

  std::string label() const { return spec + " " + shape; }
};

// Where a case was asked for: by a spec, or at a site of a model.
struct CaseUse {
  std::size_t index;  // of the case
  std::string model = {};
  std::string site = {};
  std::int64_t per_forward = 0;
};

struct KernelCases {
  std::vector<KernelCase> cases;  // distinct, in the order given
  std::vector<CaseUse> uses;
};

// SPEC, --model, --shape and --device.
void add_case_options(CLI::App& command, CaseRequest& request);

// invalid_argument, not_found (template or model), unsupported (a template that does not say the
// shapes of its arguments).
Result<KernelCases> plan_cases(const CaseRequest& request, const Catalog& catalog);

Result<int> parse_device(const CaseRequest& request);
// invalid_argument unless it is a number in that range.
Result<std::int64_t> parse_number(std::string_view option,
                                  std::string_view text,
                                  std::int64_t least,
                                  std::int64_t most);

// Object of the integer arguments.
Json integers_json(const IntegerArguments& integers);
// Object of a failure; null for success.
Json status_json(const Status& status);

}  // namespace kiln
