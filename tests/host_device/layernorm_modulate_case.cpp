// SPDX-License-Identifier: Apache-2.0

#include "tests/host_device/layernorm_modulate_case.h"

#include "tests/host_device/device_values.h"
#include "tests/host_device/reference.h"

#include <map>
#include <random>
#include <utility>

namespace kiln {
namespace {

using Fill = std::function<std::uint16_t(std::int64_t, std::int64_t)>;

// About N(0, 1): a sum of uniform numbers, the same on every standard library.
Fill random_fill(unsigned seed) {
  return [random = std::mt19937(seed)](std::int64_t, std::int64_t) mutable {
    float sum = -6.0F;
    for (int i = 0; i < 12; ++i)
      sum += static_cast<float>(random() >> 8) * 0x1p-24F;
    return reference::float_to_bf16(sum);
  };
}

// [batches, rows, hidden] with gaps, of elements of any size.
struct Layout {
  std::int64_t batches, rows, hidden, row_stride, batch_stride;

  std::size_t elements() const { return static_cast<std::size_t>(batches * batch_stride); }
  std::size_t row_begin(std::int64_t row) const {
    return static_cast<std::size_t>(row / rows * batch_stride + row % rows * row_stride);
  }
};

GuardedMemory filled(const Layout& layout, std::int64_t offset, Fill fill, unsigned seed) {
  GuardedMemory memory(layout.elements() * 2, static_cast<std::size_t>(offset) * 2);
  if (!fill) fill = random_fill(seed);
  for (std::int64_t row = 0; row < layout.batches * layout.rows; ++row) {
    for (std::int64_t column = 0; column < layout.hidden; ++column) {
      memory.set(layout.row_begin(row) + static_cast<std::size_t>(column), fill(row, column));
    }
  }
  return memory;
}

std::vector<std::uint16_t> row_of(const GuardedMemory& memory,
                                  const Layout& layout,
                                  std::int64_t row) {
  std::vector<std::uint16_t> values(static_cast<std::size_t>(layout.hidden));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = memory.at<std::uint16_t>(layout.row_begin(row) + i);
  }
  return values;
}

class Run {
 public:
  explicit Run(const LayernormModulateCase& given)
      : given_(given),
        rows_{given.batches, given.rows_per_batch, given.hidden, given.hidden + given.row_gap,
              given.rows_per_batch * (given.hidden + given.row_gap) + given.batch_gap},
        modulation_{given.batches, 1, given.hidden, given.hidden + given.row_gap,
                    given.hidden + given.row_gap},
        x_(filled(rows_, given.offset, given.x, 1)),
        scale_(filled(modulation_, given.offset, given.scale, 2)),
        shift_(filled(modulation_, given.offset, given.shift, 3)),
        input_scale_(sizeof(float), 4) {
    input_scale_.set(0, given.input_scale);
    for (const char* format : {"bf16", "e4m3", "e5m2"}) {
      if (given.out.find(format) == std::string::npos) continue;
      const std::size_t bytes = format == std::string("bf16") ? 2 : 1;
      outputs_.emplace(format, GuardedMemory(rows_.elements() * bytes,
                                             static_cast<std::size_t>(given.offset) * bytes));
    }
  }

  KernelArguments arguments() {
    KernelArguments arguments = {.pointers = {{"x", x_.span()},
                                              {"scale", scale_.span()},
                                              {"shift", shift_.span()},
                                              {"input_scale", input_scale_.span()}},
                                 .integers = {{"rows", given_.batches * given_.rows_per_batch},
                                              {"rows_per_batch", given_.rows_per_batch},
                                              {"x_row_stride", rows_.row_stride},
                                              {"x_batch_stride", rows_.batch_stride},
                                              {"scale_stride", modulation_.batch_stride},
                                              {"shift_stride", modulation_.batch_stride},
                                              {"out_row_stride", rows_.row_stride},
                                              {"out_batch_stride", rows_.batch_stride}},
                                 .reals = {{"eps", given_.eps}}};
    for (auto& [format, memory] : outputs_) {
      arguments.pointers.emplace_back("out_" + format, memory.span());
    }
    return arguments;
  }

  LayernormModulateResult compare() const {
    LayernormModulateResult result;
    for (std::int64_t row = 0; row < rows_.batches * rows_.rows; ++row)
      compare_row(row, result);
    for (const auto& [format, memory] : outputs_) {
      result.is_gap_untouched = result.is_gap_untouched && memory.is_guard_intact();
    }
    return result;
  }

 private:
  void compare_row(std::int64_t row, LayernormModulateResult& result) const {
    const auto x = row_of(x_, rows_, row);
    const reference::RowStatistics statistics = reference::row_statistics(x, given_.eps);
    const std::int64_t batch = row / given_.rows_per_batch;
    const auto m = reference::layernorm_modulate(
        x, row_of(scale_, modulation_, batch), row_of(shift_, modulation_, batch), statistics.mean,
        host::correct_reciprocal_square_root(statistics.variance_and_eps));
    for (const auto& [format, memory] : outputs_) {
      const std::size_t begin = rows_.row_begin(row);
      for (std::size_t i = 0; i < m.size(); ++i) {
        ++result.compared;
        if (!is_equal(format, memory, begin + i, m[i])) ++result.mismatches;
      }
      const std::size_t bytes = format == "bf16" ? 2 : 1;
      const bool is_gap_untouched = memory.is_untouched(
          (begin + m.size()) * bytes, static_cast<std::size_t>(given_.row_gap) * bytes);
      result.is_gap_untouched = result.is_gap_untouched && is_gap_untouched;
    }
  }

  bool is_equal(const std::string& format,
                const GuardedMemory& memory,
                std::size_t index,
                std::uint16_t m) const {
    if (format == "bf16") return memory.at<std::uint16_t>(index) == m;
    return memory.at<std::uint8_t>(index) ==
           reference::quantize(m, 1.0F / given_.input_scale,
                               format == "e4m3" ? reference::Fp8::e4m3 : reference::Fp8::e5m2,
                               given_.reciprocal == "div_full");
  }

  const LayernormModulateCase& given_;
  Layout rows_;
  Layout modulation_;
  GuardedMemory x_;
  GuardedMemory scale_;
  GuardedMemory shift_;
  GuardedMemory input_scale_;
  std::map<std::string, GuardedMemory> outputs_;
};

std::string spec_of(const LayernormModulateCase& given) {
  return fmt::format("layernorm_modulate:hidden={},out={},reciprocal={},vector={}", given.hidden,
                     given.out, given.reciprocal, given.vector);
}

}  // namespace

std::string LayernormModulateCase::text() const {
  return fmt::format("{} batches {} rows {} row gap {} batch gap {} offset {}", spec_of(*this),
                     batches, rows_per_batch, row_gap, batch_gap, offset);
}

Result<LayernormModulateResult> run_case(CpuBackend& backend,
                                         const Catalog& catalog,
                                         const LayernormModulateCase& layernorm_modulate) {
  KILN_TRY_ASSIGN(const Variant variant, Variant::parse(catalog, spec_of(layernorm_modulate)));
  Run run(layernorm_modulate);
  KILN_TRY(backend.run(variant, run.arguments()));
  return run.compare();
}

}  // namespace kiln
