// SPDX-License-Identifier: Apache-2.0

#include "tests/host_device/golden_case.h"

#include "tests/host_device/device/floats.h"
#include "tests/host_device/reference.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>

namespace kiln {
namespace {

constexpr std::string_view kOutputPrefix = "out_";
constexpr auto kUntouched = std::byte{0xCD};

template <typename Type>
std::vector<Type> values_of(const std::vector<std::byte>& bytes) {
  std::vector<Type> values(bytes.size() / sizeof(Type));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(Type));
  return values;
}

std::int64_t extent(const Tensor& tensor, std::size_t from_last) {
  return from_last < tensor.shape.size() ? tensor.shape[tensor.shape.size() - 1 - from_last] : 1;
}

Result<const Tensor*> require(const Safetensors& file,
                              const std::string& name,
                              std::string_view dtype,
                              std::int64_t element_count) {
  const Tensor* tensor = file.find(name);
  if (tensor == nullptr) return failure(Code::invalid_argument, "tensor \"{}\" is missing", name);
  if (tensor->dtype != dtype || (element_count >= 0 && tensor->element_count() != element_count)) {
    return failure(Code::invalid_argument, "tensor \"{}\" has {} elements of {}; expected {} of {}",
                   name, tensor->element_count(), tensor->dtype, element_count, dtype);
  }
  return tensor;
}

// "out_bf16" → out=bf16; "out_fp8_e4m3_div_full" → out=e4m3,reciprocal=div_full.
struct OutputName {
  std::string format;
  std::string reciprocal;  // empty: none
};

Result<OutputName> parse_output_name(const std::string& name) {
  if (name == "out_bf16") return OutputName{"bf16", ""};
  for (const char* format : {"e4m3", "e5m2"}) {
    for (const char* reciprocal : {"rcp_rn", "div_full"}) {
      if (name == fmt::format("out_fp8_{}_{}", format, reciprocal)) {
        return OutputName{format, reciprocal};
      }
    }
  }
  return failure(Code::invalid_argument, "output \"{}\" has an unknown name", name);
}

std::string_view dtype_of(const std::string& format) {
  if (format == "bf16") return "BF16";
  return format == "e4m3" ? "F8_E4M3" : "F8_E5M2";
}

class CaseBuilder {
 public:
  CaseBuilder(const Catalog& catalog, const Safetensors& file) : catalog_(catalog), file_(file) {}

  Result<GoldenCase> build() {
    const std::string op = file_.metadata_value("op");
    if (op == "layernorm_modulate") {
      KILN_TRY(read_layernorm_modulate());
    } else if (op == "static_quant") {
      KILN_TRY(read_static_quant());
    } else {
      return failure(Code::unsupported, "op \"{}\"; known: layernorm_modulate, static_quant", op);
    }
    if (case_.outputs.empty()) return failure(Code::invalid_argument, "there is no output");
    return std::move(case_);
  }

 private:
  Status take_input(const std::string& name, std::string_view dtype, std::int64_t element_count) {
    KILN_TRY_ASSIGN(const Tensor* tensor, require(file_, name, dtype, element_count));
    auto& memory = case_.inputs[name] = tensor->bytes;
    arguments_.pointers.emplace_back(name, memory);
    return {};
  }

  // `spec` has the parameters that do not depend on the output; `argument` names the pointer.
  Status take_outputs(const std::string& spec,
                      std::int64_t element_count,
                      bool is_named_by_format) {
    for (const auto& [name, tensor] : file_.tensors) {
      if (name.rfind(kOutputPrefix, 0) != 0) continue;
      KILN_TRY_ASSIGN(const OutputName parsed, parse_output_name(name));
      KILN_TRY(require(file_, name, dtype_of(parsed.format), element_count).status());
      std::string full = fmt::format("{},out={}", spec, parsed.format);
      if (!parsed.reciprocal.empty()) full += ",reciprocal=" + parsed.reciprocal;
      KILN_TRY_ASSIGN(Variant variant, Variant::parse(catalog_, full));
      auto output = std::make_unique<GoldenOutput>(
          GoldenOutput{.name = name,
                       .variant = std::move(variant),
                       .arguments = arguments_,
                       .expected = tensor.bytes,
                       .actual = std::vector<std::byte>(tensor.bytes.size(), kUntouched),
                       .element_bytes = parsed.format == "bf16" ? std::size_t{2} : std::size_t{1},
                       .uses_div_full = parsed.reciprocal == "div_full"});
      const std::string argument = is_named_by_format ? "out_" + parsed.format : "out";
      output->arguments.pointers.emplace_back(argument, output->actual);
      case_.outputs.push_back(std::move(output));
    }
    return {};
  }

  Status take_inverse() {
    if (file_.find("inverse_div_full") == nullptr) return {};
    KILN_TRY_ASSIGN(const Tensor* inverse, require(file_, "inverse_div_full", "F32", 1));
    const float scale = values_of<float>(case_.inputs.at("input_scale"))[0];
    case_.device_values.inverse_div_full[host::bits_of(scale)] =
        values_of<float>(inverse->bytes)[0];
    return {};
  }

  Status take_statistics(std::int64_t rows, std::int64_t hidden, float eps) {
    if (file_.find("mean") == nullptr && file_.find("rstd") == nullptr) return {};
    KILN_TRY_ASSIGN(const Tensor* mean_tensor, require(file_, "mean", "F32", rows));
    KILN_TRY_ASSIGN(const Tensor* rstd_tensor, require(file_, "rstd", "F32", rows));
    const auto mean = values_of<float>(mean_tensor->bytes);
    const auto rstd = values_of<float>(rstd_tensor->bytes);
    const auto x = values_of<std::uint16_t>(case_.inputs.at("x"));
    Comparison means{.name = "mean", .count = rows};
    Comparison deviations{.name = "rstd", .count = rows};
    const auto width = static_cast<std::size_t>(hidden);
    for (std::size_t row = 0; row < mean.size(); ++row) {
      const auto replay = reference::row_statistics(std::span(x).subspan(row * width, width), eps);
      if (host::bits_of(replay.mean) != host::bits_of(mean[row])) ++means.mismatches;
      const float correct = host::correct_reciprocal_square_root(replay.variance_and_eps);
      const bool is_near = rstd[row] >= std::nextafter(correct, 0.0F) &&
                           rstd[row] <= std::nextafter(correct, std::numeric_limits<float>::max());
      if (!is_near) ++deviations.mismatches;
      case_.device_values.reciprocal_square_root[host::bits_of(replay.variance_and_eps)] =
          rstd[row];
    }
    case_.statistics = {means, deviations};
    return {};
  }

  Result<float> read_eps() const {
    const std::string text = file_.metadata_value("eps");
    char* end = nullptr;
    errno = 0;
    const double eps = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || errno != 0 || !(eps >= 0)) {
      return failure(Code::invalid_argument, R"(metadata "eps" is "{}")", text);
    }
    return static_cast<float>(eps);
  }

  // x [rows, hidden] with scale and shift [hidden], or x [batches, rows, hidden] with scale and
  // shift [batches, hidden].
  Status read_layernorm_modulate() {
    KILN_TRY_ASSIGN(const Tensor* x, require(file_, "x", "BF16", -1));
    const std::int64_t hidden = extent(*x, 0);
    const std::int64_t rows_per_batch = extent(*x, 1);
    const std::int64_t batches = extent(*x, 2);
    const std::int64_t rows = rows_per_batch * batches;
    KILN_TRY_ASSIGN(const float eps, read_eps());
    KILN_TRY(take_input("x", "BF16", rows * hidden));
    KILN_TRY(take_input("scale", "BF16", batches * hidden));
    KILN_TRY(take_input("shift", "BF16", batches * hidden));
    KILN_TRY(take_input("input_scale", "F32", 1));
    arguments_.integers = {{"rows", rows},
                           {"rows_per_batch", rows_per_batch},
                           {"x_row_stride", hidden},
                           {"x_batch_stride", rows_per_batch * hidden},
                           {"scale_stride", hidden},
                           {"shift_stride", hidden},
                           {"out_row_stride", hidden},
                           {"out_batch_stride", rows_per_batch * hidden}};
    arguments_.reals = {{"eps", eps}};
    KILN_TRY(take_inverse());
    KILN_TRY(take_statistics(rows, hidden, eps));
    return take_outputs(fmt::format("layernorm_modulate:hidden={}", hidden), rows * hidden, true);
  }

  // x [columns] or [rows, columns].
  Status read_static_quant() {
    KILN_TRY_ASSIGN(const Tensor* x, require(file_, "x", "BF16", -1));
    const std::int64_t columns = extent(*x, 0);
    const std::int64_t rows = extent(*x, 1);
    KILN_TRY(take_input("x", "BF16", rows * columns));
    KILN_TRY(take_input("input_scale", "F32", 1));
    arguments_.integers = {{"rows", rows},
                           {"columns", columns},
                           {"x_row_stride", columns},
                           {"out_row_stride", columns}};
    KILN_TRY(take_inverse());
    std::int64_t vector = 8;
    while (columns % vector != 0)
      vector /= 2;
    return take_outputs(fmt::format("static_quant:vector={}", vector), rows * columns, false);
  }

  const Catalog& catalog_;
  const Safetensors& file_;
  GoldenCase case_;
  KernelArguments arguments_;
};

}  // namespace

Comparison GoldenOutput::compare() const {
  Comparison comparison{.name = name,
                        .count = static_cast<std::int64_t>(expected.size() / element_bytes)};
  for (std::size_t i = 0; i < expected.size(); i += element_bytes) {
    if (std::memcmp(&expected[i], &actual[i], element_bytes) != 0) ++comparison.mismatches;
  }
  return comparison;
}

Result<GoldenCase> make_golden_case(const Catalog& catalog, const Safetensors& file) {
  return CaseBuilder(catalog, file).build();
}

}  // namespace kiln
