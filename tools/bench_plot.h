// SPDX-License-Identifier: Apache-2.0
#pragma once

// A bar chart as one SVG text that needs no other file: no script, no font, light and dark.

#include <string>
#include <string_view>
#include <vector>

namespace kiln {

struct BenchBar {
  std::string label;
  double ratio = 0;  // to the copy
  double us = 0;
};

std::string bench_plot(std::string_view title, const std::vector<BenchBar>& bars);

}  // namespace kiln
