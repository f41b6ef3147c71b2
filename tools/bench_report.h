// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a benchmark found, as `kiln bench` prints it.

#include "tools/bench_run.h"
#include "tools/json_output.h"
#include "tools/kernel_cases.h"

#include <string>
#include <vector>

namespace kiln {

struct BenchReport {
  std::string device_name;
  int replays = 0;
  std::vector<KernelCase> cases;
  std::vector<CaseUse> uses;
  std::vector<Result<Measurement>> measured;  // of each case
};

Json bench_json(const BenchReport& report);

// A table, and a line for each model.
std::string bench_text(const BenchReport& report);

}  // namespace kiln
