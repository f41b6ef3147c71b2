// SPDX-License-Identifier: Apache-2.0

#include "tests/host_device/variant_case.h"

#include "templates/parameter_value.h"
#include "tests/host_device/device/floats.h"
#include "tests/host_device/device/ptx.cuh"
#include "tests/host_device/guarded_memory.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace kiln {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();
constexpr std::array kSpecials = {0.0F,
                                  -0.0F,
                                  1e-45F,
                                  -1e-39F,
                                  1e-41F,
                                  6e-8F,
                                  -3e-5F,
                                  std::numeric_limits<float>::infinity(),
                                  -std::numeric_limits<float>::infinity(),
                                  std::numeric_limits<float>::quiet_NaN(),
                                  65504.0F,
                                  -65504.0F,
                                  kLargest,
                                  -kLargest,
                                  3.3895e38F};

// Near N(0, 1): sums of uniform numbers, the same on every standard library.
const std::vector<float>& normal_values() {
  static const std::vector<float> values = [] {
    std::mt19937 random(7);
    std::vector<float> sums(65521);
    for (float& sum : sums) {
      sum = -6.0F;
      for (int i = 0; i < 12; ++i)
        sum += static_cast<float>(random() >> 8) * 0x1p-24F;
    }
    return sums;
  }();
  return values;
}

class Values {
 public:
  Values(unsigned seed, unsigned specials) : random_(seed), specials_(specials) {}

  float next() {
    if (specials_ != 0 && random_() % 1000 < specials_) {
      return kSpecials[random_() % kSpecials.size()];
    }
    return normal_values()[random_() % normal_values().size()];
  }

 private:
  std::mt19937 random_;
  unsigned specials_;
};

// Calls `visit(position, index)` for every element: where it lies, and its number in a dense
// tensor.
template <typename Visit>
void for_each_element(const TensorLayout& layout, Visit visit) {
  const std::int64_t count = layout.element_count();
  for (std::int64_t index = 0; index < count; ++index) {
    std::int64_t rest = index;
    std::int64_t position = 0;
    for (std::size_t i = layout.shape.size(); i-- > 0;) {
      position += rest % layout.shape[i] * layout.strides[i];
      rest /= layout.shape[i];
    }
    visit(static_cast<std::size_t>(position), index);
  }
}

std::int64_t access_width(const Variant& variant) {
  for (const auto& [name, value] : variant.parameters()) {
    if (name == "vector") return parse_integer(value).value_or(1);
  }
  return 1;
}

bool ends_with(const std::string& name, std::string_view suffix) {
  return name.ends_with(suffix);
}

// The given shape with strides that leave gaps.
Result<IntegerArguments> make_arguments(const Variant& variant, const VariantCase& given) {
  const std::int64_t width = access_width(variant);
  KILN_TRY_ASSIGN(IntegerArguments dense, complete_arguments(variant, given.shape));
  IntegerArguments widened;
  for (auto [name, value] : dense) {
    if (ends_with(name, "_batch_stride")) continue;
    if (ends_with(name, "_stride") && value != 0) value += given.row_gap * width;
    widened.emplace_back(name, value);
  }
  KILN_TRY_ASSIGN(IntegerArguments arguments, complete_arguments(variant, widened));
  for (auto& [name, value] : arguments) {
    if (ends_with(name, "_batch_stride") && value != 0) value += given.batch_gap * width;
  }
  return arguments;
}

class Run {
 public:
  Run(const VariantCase& given, const Variant& variant) : given_(given), variant_(variant) {}

  Status prepare() {
    KILN_TRY_ASSIGN(arguments_.integers, make_arguments(variant_, given_));
    KILN_TRY_ASSIGN(layouts_, tensor_layouts(variant_, arguments_.integers));
    for (const KernelArgument& argument : variant_.manifest().arguments) {
      if (argument.kind == ArgumentKind::float32) {
        arguments_.reals.emplace_back(argument.name, given_.eps);
      }
    }
    const auto width = static_cast<std::size_t>(access_width(variant_));
    for (std::size_t i = 0; i < layouts_.size(); ++i) {
      const TensorLayout& layout = layouts_[i];
      const auto element_bytes = static_cast<std::size_t>(layout.element_bytes);
      // Other memory than a row of elements has alignments of its own.
      const bool is_shifted = layout.dtype != "u8" && layout.name != "out_nvfp4_scales";
      const std::size_t offset =
          is_shifted ? static_cast<std::size_t>(given_.offset) * width * element_bytes : 0;
      memory_.emplace(layout.name,
                      std::make_unique<GuardedMemory>(
                          static_cast<std::size_t>(layout.span()) * element_bytes, offset));
      if (!layout.is_output) fill(layout, i);
    }
    for (const TensorLayout& layout : layouts_)
      arguments_.pointers.emplace_back(layout.name, memory_of(layout.name).span());
    return {};
  }

  const KernelArguments& arguments() const { return arguments_; }

  CaseResult compare(const Run& reference) const {
    CaseResult result;
    for (const TensorLayout& layout : layouts_) {
      const GuardedMemory& memory = memory_of(layout.name);
      const GuardedMemory& expected = reference.memory_of(layout.name);
      const auto bytes = static_cast<std::size_t>(layout.element_bytes);
      std::vector<bool> is_element(static_cast<std::size_t>(layout.span()));
      for_each_element(layout, [&](std::size_t position, std::int64_t index) {
        is_element[position] = true;
        if (!layout.is_output) return;
        ++result.compared;
        const unsigned found = bits_at(memory, position, bytes);
        const unsigned wanted = bits_at(expected, position, bytes);
        if (found == wanted) return;
        if (result.mismatches++ == 0) {
          result.first_mismatch =
              fmt::format("{}[{}]: {:#x}, reference {:#x}", layout.name, index, found, wanted);
        }
      });
      bool is_untouched = memory.is_guard_intact();
      for (std::size_t i = 0; i < is_element.size(); ++i) {
        if (!is_element[i]) is_untouched = is_untouched && memory.is_untouched(i * bytes, bytes);
      }
      result.is_rest_untouched = result.is_rest_untouched && is_untouched;
    }
    return result;
  }

 private:
  static unsigned bits_at(const GuardedMemory& memory, std::size_t position, std::size_t bytes) {
    if (bytes == 1) return memory.at<std::uint8_t>(position);
    return bytes == 2 ? memory.at<std::uint16_t>(position) : memory.at<std::uint32_t>(position);
  }

  GuardedMemory& memory_of(const std::string& name) const {
    const auto alias = given_.aliases.find(name);
    return *memory_.at(alias == given_.aliases.end() ? name : alias->second);
  }

  void fill(const TensorLayout& layout, std::size_t number) {
    Values random(given_.seed + 97 * static_cast<unsigned>(number), given_.specials);
    const auto values = given_.values.find(layout.name);
    GuardedMemory& memory = *memory_.at(layout.name);
    for_each_element(layout, [&](std::size_t position, std::int64_t index) {
      float value = layout.is_positive ? given_.input_scale : random.next();
      if (values != given_.values.end()) value = values->second(index);
      if (layout.dtype == "f32") {
        memory.set(position, value);
      } else if (layout.dtype == "f16") {
        memory.set(position, static_cast<std::uint16_t>(round_one_to<F16>(value)));
      } else {
        memory.set(position, static_cast<std::uint16_t>(round_one_to<Bf16>(value)));
      }
    });
  }

  const VariantCase& given_;
  const Variant& variant_;
  KernelArguments arguments_;
  std::vector<TensorLayout> layouts_;
  std::map<std::string, std::unique_ptr<GuardedMemory>> memory_;
};

}  // namespace

std::string VariantCase::text() const {
  std::string text = spec;
  for (const auto& [name, value] : shape)
    text += fmt::format(" {}={}", name, value);
  return text + fmt::format(" offset {} row gap {} batch gap {} seed {} specials {} scale {}",
                            offset, row_gap, batch_gap, seed, specials, input_scale);
}

Result<Variant> reference_of(const Catalog& catalog, const Variant& variant) {
  KILN_TRY_ASSIGN(auto source, catalog.find(reference_name(variant.manifest().name)));
  return Variant::make(std::move(source), variant.parameters());
}

Result<CaseResult> run_case(Backend& backend, const Catalog& catalog, const VariantCase& given) {
  KILN_TRY_ASSIGN(const Variant variant, Variant::parse(catalog, given.spec));
  KILN_TRY_ASSIGN(const Variant reference, reference_of(catalog, variant));
  Run run(given, variant);
  Run reference_run(given, variant);
  KILN_TRY(run.prepare());
  KILN_TRY(reference_run.prepare());
  KILN_TRY(backend.run(variant, run.arguments()));
  KILN_TRY(backend.run(reference, reference_run.arguments()));
  return run.compare(reference_run);
}

}  // namespace kiln
