// SPDX-License-Identifier: Apache-2.0
#include "tools/bench_plot.h"

#include "tools/table.h"

#include <fmt/core.h>

#include <algorithm>

namespace kiln {
namespace {

// In pixels.
constexpr double kMargin = 16;
constexpr double kCharacter = 7.3;  // of a monospace font of this size
constexpr double kRow = 26;
constexpr double kBar = 16;
constexpr double kHeader = 56;
constexpr double kBarsWidth = 360;
constexpr double kValueWidth = 150;

constexpr std::string_view kStyle = R"(<style>
  text { font: 12px ui-monospace, monospace; fill: #333; }
  .title { font-weight: bold; }
  .background { fill: #fff; }
  .bar { fill: #7d8fa6; }
  .copy { stroke: #333; stroke-dasharray: 3 3; }
  @media (prefers-color-scheme: dark) {
    text { fill: #ccc; }
    .background { fill: #1c1c1c; }
    .bar { fill: #6a7b92; }
    .copy { stroke: #ccc; }
  }
</style>
)";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else {
      result += c;
    }
  }
  return result;
}

std::string text_at(double x, double y, std::string_view attributes, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, attributes,
                     escaped(text));
}

}  // namespace

std::string bench_plot(std::string_view title, const std::vector<BenchBar>& bars) {
  std::size_t label_size = 0;
  double most = 1;
  for (const BenchBar& bar : bars) {
    label_size = std::max(label_size, bar.label.size());
    most = std::max(most, bar.ratio);
  }
  const double left = kMargin + static_cast<double>(label_size) * kCharacter + kMargin;
  const double scale = kBarsWidth / most;
  const double width = left + kBarsWidth + kValueWidth;
  const double height = kHeader + static_cast<double>(bars.size()) * kRow + kMargin;

  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n{2}"
      "<rect class=\"background\" width=\"100%\" height=\"100%\"/>\n",
      width, height, kStyle);
  svg += text_at(kMargin, kMargin + 8, " class=\"title\"", title);
  svg += text_at(left + scale, kHeader - 10, " text-anchor=\"middle\"", "copy = 1");
  double top = kHeader;
  for (const BenchBar& bar : bars) {
    const double baseline = top + kBar - 4;
    svg += text_at(left - kMargin / 2, baseline, " text-anchor=\"end\"", bar.label);
    svg += fmt::format(
        "<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
        left, top, bar.ratio * scale, kBar);
    svg += text_at(left + std::max(bar.ratio, 1.0) * scale + kMargin / 2, baseline, "",
                   fmt::format("{:.2f}  {:.1f} us", bar.ratio, bar.us));
    top += kRow;
  }
  svg += fmt::format(
      "<line class=\"copy\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>\n",
      left + scale, kHeader - 6, top);
  return svg + "</svg>\n";
}

}  // namespace kiln
