// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads NVRTC's log: the resource report of ptxas, the first error, and what to do about errors
// that have a known cause. Text in, text out.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kiln {

struct SpillReport {
  std::int32_t store_bytes = 0;
  std::int32_t load_bytes = 0;

  bool operator==(const SpillReport&) const = default;
};

// Spills of one kernel and the functions compiled with it; nullopt if the log has no report on it.
std::optional<SpillReport> read_spills(std::string_view log, std::string_view kernel);

// The log without the resource report and its timings: warnings, which are the same at every
// compile of one source.
std::string without_report(std::string_view log);

// The first line that reports an error, and how many more there are. NVRTC reports none for a
// kernel with too much static shared memory (seen up to 13.0): that is found in the resource
// report. Empty if there is no error.
std::string first_error(std::string_view log);

// What to do about it; empty if the cause is not a known one.
std::string remedy_for(std::string_view log);

}  // namespace kiln
