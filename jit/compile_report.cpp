// SPDX-License-Identifier: Apache-2.0
#include "jit/compile_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

namespace kiln {
namespace {

constexpr std::string_view kEntry = "Compiling entry function '";
constexpr std::string_view kSpillStores = " bytes spill stores";
constexpr std::string_view kSpillLoads = " bytes spill loads";
constexpr std::size_t kMostMessageBytes = 400;

// Of the lines of the resource report.
constexpr std::array<std::string_view, 7> kReportMarks = {"Compiling entry function",
                                                          "Function properties for",
                                                          " bytes stack frame",
                                                          "Compile time = ",
                                                          ": Used ",
                                                          " bytes gmem",
                                                          "bytes cumulative stack size"};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The number that ends where `unit` begins: "0 bytes stack frame, 12 bytes spill stores".
std::optional<std::int32_t> number_before(std::string_view line, std::string_view unit) {
  const auto end = line.find(unit);
  if (end == std::string_view::npos) return std::nullopt;
  auto begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9')
    --begin;
  std::int32_t value = 0;
  const auto result = std::from_chars(line.data() + begin, line.data() + end, value);
  if (result.ec != std::errc() || result.ptr != line.data() + end) return std::nullopt;
  return value;
}

// ptxas has other things to say at this level (advice on slow code), which stay.
bool is_report(std::string_view line) {
  const bool is_from_ptxas = line.starts_with("ptxas info") || line.starts_with("ptxas   ") ||
                             (line.starts_with(' ') && contains(line, kSpillStores));
  return is_from_ptxas && std::any_of(kReportMarks.begin(), kReportMarks.end(),
                                      [&](std::string_view mark) { return contains(line, mark); });
}

// A line that names an error, not the compiler's count of them.
bool is_error(std::string_view line) {
  if (contains(line, " detected in ")) return false;
  return contains(line, ": error") || contains(line, "; error") ||
         contains(line, ": catastrophic error") || contains(line, "error   :") ||
         line.starts_with("Command-line error") || line.starts_with("ptxas fatal");
}

// Targets up to sm_89 and NVRTC up to 12 allow this much static shared memory, newer ones more;
// only looked at after a compile that failed.
constexpr std::int32_t kSharedAlwaysAllowed = 48 << 10;

std::optional<std::int32_t> large_shared(std::string_view log) {
  for (const std::string_view line : lines_of(log)) {
    const auto bytes = number_before(line, " bytes smem");
    if (bytes && *bytes > kSharedAlwaysAllowed) return bytes;
  }
  return std::nullopt;
}

struct Remedy {
  std::string_view sign;
  std::string_view text;
};

constexpr std::array<Remedy, 8> kRemedies = {{
    {"could not open source file",
     "a template can include only files of its own directory and Kiln's prelude, by the name in "
     "the #include directive; toolkit and C++ headers are not available"},
    {"cvt with .e4m3x2/.e5m2x2",
     "conversion to FP8 needs sm_89 or newer; compile for a newer target or choose another output"},
    {"requires .target sm_",
     "the source uses an instruction that the target lacks; compile for the target that the log "
     "names, or a newer one"},
    {"not supported on .target",
     "the source uses instructions of one chip; compile for its own target (sm_90a, sm_100a), not "
     "the plain one"},
    {"is considered a host variable",
     "mark variables at namespace scope __device__ or __constant__"},
    {"nv_mangled_name",
     "the name expression must name exactly one __global__ function that the source declares, with "
     "all its template arguments"},
    {"invalid value for --gpu-architecture",
     "this NVRTC does not know the target; install a newer one"},
    {"failed to open libnvrtc-builtins",
     "install libnvrtc-builtins of the same version beside libnvrtc"},
}};

}  // namespace

std::optional<SpillReport> read_spills(std::string_view log, std::string_view kernel) {
  const std::string entry = fmt::format("{}{}'", kEntry, kernel);
  std::optional<SpillReport> report;
  bool is_inside = false;
  for (const std::string_view line : lines_of(log)) {
    if (contains(line, kEntry)) is_inside = contains(line, entry);
    if (!is_inside) continue;
    const auto stores = number_before(line, kSpillStores);
    const auto loads = number_before(line, kSpillLoads);
    if (!stores || !loads) continue;
    if (!report) report.emplace();
    report->store_bytes += *stores;
    report->load_bytes += *loads;
  }
  return report;
}

std::string without_report(std::string_view log) {
  std::string kept;
  for (const std::string_view line : lines_of(log)) {
    if (!is_report(line)) kept.append(line).append("\n");
  }
  // An empty log is "" and not a newline.
  return kept.find_first_not_of('\n') == std::string::npos ? std::string() : kept;
}

std::string first_error(std::string_view log) {
  std::string first;
  int count = 0;
  for (const std::string_view line : lines_of(log)) {
    if (!is_error(line)) continue;
    if (++count == 1) first = line.substr(0, kMostMessageBytes);
  }
  if (const auto bytes = large_shared(log); count == 0 && bytes) {
    return fmt::format(
        "the kernel has {} bytes of static shared memory, more than the target allows", *bytes);
  }
  if (count > 1) first += fmt::format(" (and {} more)", count - 1);
  return first;
}

std::string remedy_for(std::string_view log) {
  for (const Remedy& remedy : kRemedies) {
    if (contains(log, remedy.sign)) return std::string(remedy.text);
  }
  if (large_shared(log)) {
    return "make the large arrays dynamic shared memory (extern __shared__), which has a higher "
           "limit";
  }
  return {};
}

}  // namespace kiln
