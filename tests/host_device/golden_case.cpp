// SPDX-License-Identifier: Apache-2.0

#include "tests/host_device/golden_case.h"

#include "support/text.h"
#include "templates/tensor.h"
#include "tests/host_device/golden_statistics.h"
#include "tests/host_device/golden_tensor.h"

#include <cstring>
#include <string_view>
#include <utility>

namespace kiln {
namespace {

constexpr auto kUntouched = std::byte{0xCD};

class CaseBuilder {
 public:
  CaseBuilder(const Catalog& catalog, const Safetensors& file) : catalog_(catalog), file_(file) {}

  Result<GoldenCase> build() {
    op_ = file_.metadata_value("op");
    KILN_TRY(read_op());
    if (case_.runs.empty()) return failure(Code::invalid_argument, "there is no output");
    return std::move(case_);
  }

 private:
  Status read_op() {
    KILN_TRY(catalog_.find(op_).status());
    for (const auto& [name, tensor] : file_.tensors)
      case_.inputs[name] = tensor.bytes;
    for (const char* prefix : {"", "q_", "k_", "v_"})
      KILN_TRY(take_inverse(prefix));
    KILN_TRY(take_pairs("exp", case_.device_values.exponential));
    KILN_TRY(take_pairs("tanh", case_.device_values.hyperbolic_tangent));
    for (const char* name : {"update_rstd", "q_rstd", "k_rstd"}) {
      const Tensor* roots = file_.find(name);
      if (roots == nullptr) continue;
      for (const float root : values_of<float>(roots->bytes))
        case_.device_values.reciprocal_square_roots.insert(root);
    }
    if (op_ == "qkv_epilogue") return read_qkv_epilogue();
    if (op_ == "static_quant") return read_static_quant();
    if (op_.ends_with("token_cat")) return read_token_cat();
    return read_normalized();
  }

  Result<const Tensor*> require(const std::string& name) const {
    const Tensor* tensor = file_.find(name);
    if (tensor != nullptr) return tensor;
    return failure(Code::invalid_argument, "tensor \"{}\" is missing", name);
  }

  void add_text(std::string& spec, const std::string& parameter) const {
    const std::string value = file_.metadata_value(parameter);
    if (!value.empty()) spec += fmt::format(",{}={}", parameter, value);
  }

  Status take_inverse(const std::string& prefix) {
    const Tensor* inverse = file_.find(prefix + "inverse_div_full");
    const Tensor* scale = file_.find(prefix + "input_scale");
    if (inverse == nullptr || scale == nullptr) return {};
    return add_known(*scale, *inverse, case_.device_values.inverse_div_full);
  }

  // What a function of the GPU gives, `name`, for `name`_argument.
  Status take_pairs(const std::string& name, std::map<std::uint32_t, float>& known) {
    const Tensor* results = file_.find(name);
    const Tensor* arguments = file_.find(name + "_argument");
    if (results == nullptr || arguments == nullptr) return {};
    return add_known(*arguments, *results, known);
  }

  // Adds a launch of `spec` with these integer arguments, of which strides may be left out, and the
  // file's tensors by the arguments' names; `from` gives other places for some.
  Status add_run(const std::string& spec,
                 const IntegerArguments& shape,
                 const std::map<std::string, std::span<std::byte>>& from,
                 std::vector<std::pair<std::string, const Tensor*>> outputs) {
    KILN_TRY_ASSIGN(Variant variant, Variant::parse(catalog_, spec));
    GoldenRun run{.variant = std::move(variant), .arguments = {}, .outputs = {}};
    KILN_TRY_ASSIGN(run.arguments.integers, complete_arguments(run.variant, shape));
    KILN_TRY_ASSIGN(const auto layouts, tensor_layouts(run.variant, run.arguments.integers));
    for (const TensorLayout& layout : layouts) {
      if (layout.is_output) continue;
      const auto place = from.find(layout.name);
      std::span<std::byte> memory;
      if (place != from.end()) {
        memory = place->second;
      } else {
        KILN_TRY(require(layout.name).status());
        memory = case_.inputs.at(layout.name);
      }
      const auto needed = static_cast<std::size_t>(layout.span() * layout.element_bytes);
      if (memory.size() < needed) {
        return failure(Code::invalid_argument, "tensor \"{}\" has {} bytes; expected {}",
                       layout.name, memory.size(), needed);
      }
      run.arguments.pointers.emplace_back(layout.name, memory);
    }
    for (const auto& [argument, tensor] : outputs) {
      auto output = std::make_unique<GoldenOutput>(
          GoldenOutput{.name = output_names_.at(tensor),
                       .expected = tensor->bytes,
                       .actual = std::vector<std::byte>(tensor->bytes.size(), kUntouched),
                       .element_bytes = bytes_of(*tensor)});
      run.arguments.pointers.emplace_back(argument, output->actual);
      run.outputs.push_back(std::move(output));
    }
    for (const KernelArgument& argument : run.variant.manifest().arguments) {
      if (argument.kind != ArgumentKind::float32) continue;
      KILN_TRY_ASSIGN(const float eps, read_eps(file_));
      run.arguments.reals.emplace_back(argument.name, eps);
    }
    run.uses_div_full = spec.find("reciprocal=div_full") != std::string::npos;
    case_.runs.push_back(std::move(run));
    return {};
  }

  // A launch for each output of the file; `spec` has what does not depend on the output.
  Status add_runs(const std::string& spec, const IntegerArguments& shape) {
    for (const auto& [name, tensor] : file_.tensors) {
      if (!name.starts_with("out_")) continue;
      KILN_TRY_ASSIGN(const OutputName parsed, parse_output_name(name));
      std::string full = fmt::format("{},out={}", spec, parsed.format);
      if (!parsed.reciprocal.empty()) full += ",reciprocal=" + parsed.reciprocal;
      output_names_[&tensor] = name;
      KILN_TRY(add_run(full, shape, {}, {{parsed.argument, &tensor}}));
    }
    return {};
  }

  // x or residual and update [rows, hidden], modulation [hidden]; or a batch in front of each.
  Status read_normalized() {
    const bool is_gated = op_.starts_with("gated_residual");
    KILN_TRY_ASSIGN(const Tensor* x, require(is_gated ? "residual" : "x"));
    KILN_TRY_ASSIGN(const std::string dtype, dtype_of(*x));
    std::string spec = fmt::format("{}:hidden={},dtype={}", op_, extent(*x, 0), dtype);
    add_text(spec, "recipe");
    add_text(spec, "clip");
    if (file_.find("bias") != nullptr) spec += ",bias=true";
    const bool is_rms_norm = op_.find("rmsnorm") != std::string::npos;
    KILN_TRY_ASSIGN(const float eps, read_eps(file_));
    KILN_TRY_ASSIGN(case_.statistics, replay_statistics(file_, is_gated ? "out_residual" : "x",
                                                        is_rms_norm, eps, case_.device_values));
    return add_runs(spec, {{"batches", extent(*x, 2)}, {"rows", extent(*x, 1)}});
  }

  // x [columns] or [rows, columns].
  Status read_static_quant() {
    KILN_TRY_ASSIGN(const Tensor* x, require("x"));
    KILN_TRY_ASSIGN(const std::string dtype, dtype_of(*x));
    const std::int64_t columns = extent(*x, 0);
    return add_runs(fmt::format("static_quant:dtype={},vector={}", dtype, widest_access(columns)),
                    {{"rows", extent(*x, 1)}, {"columns", columns}});
  }

  // attention [rows, A] or none; mlp [rows, M] or gate_up [rows, 2 * M].
  Status read_token_cat() {
    const bool is_gated = op_ == "swiglu_token_cat";
    KILN_TRY_ASSIGN(const Tensor* mlp, require(is_gated ? "gate_up" : "mlp"));
    KILN_TRY_ASSIGN(const std::string dtype, dtype_of(*mlp));
    const Tensor* attention = file_.find("attention");
    const std::int64_t mlp_width = extent(*mlp, 0) / (is_gated ? 2 : 1);
    IntegerArguments shape = {{"rows", extent(*mlp, 1)}, {"mlp_width", mlp_width}};
    std::string spec = fmt::format(
        "{}:dtype={},vector={}", op_, dtype,
        widest_access(attention == nullptr ? mlp_width : extent(*attention, 0) | mlp_width));
    if (file_.find("bias") != nullptr) spec += ",bias=true";
    if (const Tensor* activated = file_.find("swiglu_bf16")) {
      output_names_[activated] = "swiglu_bf16";
      KILN_TRY(add_run(spec + ",attention=false,out=bf16", shape, {}, {{"out", activated}}));
    }
    if (attention == nullptr) {
      spec += ",attention=false";
    } else {
      shape.emplace_back("attention_width", extent(*attention, 0));
    }
    return add_runs(spec, shape);
  }

  // img_qkv and txt_qkv [tokens, 3 * heads * head_dim]; cos and sin for the joint tokens.
  Status read_qkv_epilogue() {
    KILN_TRY_ASSIGN(const Tensor* image, require("img_qkv"));
    KILN_TRY_ASSIGN(const Tensor* cosines, require("cos"));
    KILN_TRY_ASSIGN(const std::string dtype, dtype_of(*image));
    const Tensor* text = file_.find("txt_qkv");
    const std::int64_t head_dim = 2 * extent(*cosines, 0);
    const std::int64_t width = extent(*image, 0) / 3;
    const std::int64_t text_tokens = text == nullptr ? 0 : extent(*text, 1);
    std::string spec = fmt::format("qkv_epilogue:head_dim={},dtype={},streams={}", head_dim, dtype,
                                   text == nullptr ? 1 : 2);
    add_text(spec, "recipe");
    add_text(spec, "qk_norm");
    if (file_.metadata_value("rope").starts_with("half")) spec += ",rope=half_split";
    if (file_.metadata_value("order").starts_with("image")) spec += ",order=image_first";
    if (file_.find("img_bias") != nullptr) spec += ",bias=true";
    IntegerArguments shape = {
        {"tokens", extent(*image, 1)}, {"text_tokens", text_tokens}, {"heads", width / head_dim}};
    for (const char* name : {"q", "k", "v"}) {
      shape.emplace_back(fmt::format("{}_row_stride", name), 3 * width);
      shape.emplace_back(fmt::format("text_{}_row_stride", name), text == nullptr ? 0 : 3 * width);
    }
    const bool is_text_first = file_.metadata_value("order").starts_with("text");
    const std::int64_t image_begin = is_text_first ? text_tokens : 0;
    const std::int64_t text_begin = is_text_first ? 0 : extent(*image, 1);
    std::map<std::string, std::span<std::byte>> from;
    take_stream(from, "img_", "", width, image_begin * extent(*cosines, 0));
    if (text != nullptr) {
      take_stream(from, "txt_", "text_", width, text_begin * extent(*cosines, 0));
    }
    KILN_TRY(add_qkv_run(fmt::format("{},out={}", spec, dtype), shape, from, "out_{}", "out_{}"));
    for (const char* format : {"e4m3", "e5m2"}) {
      for (const char* reciprocal : {"rcp_rn", "div_full"}) {
        const std::string name = fmt::format("out_{{}}_fp8_{}_{}", format, reciprocal);
        if (file_.find(fmt::format(fmt::runtime(name), "q")) == nullptr) continue;
        KILN_TRY(add_qkv_run(fmt::format("{},out={},reciprocal={}", spec, format, reciprocal),
                             shape, from, name, fmt::format("out_{{}}_{}", format)));
      }
    }
    return {};
  }

  // The names of tensors and of arguments, with {} for q, k and v.
  Status add_qkv_run(const std::string& spec,
                     const IntegerArguments& shape,
                     const std::map<std::string, std::span<std::byte>>& from,
                     const std::string& tensor_name,
                     const std::string& argument_name) {
    std::vector<std::pair<std::string, const Tensor*>> outputs;
    for (const char* part : {"q", "k", "v"}) {
      const std::string name = fmt::format(fmt::runtime(tensor_name), part);
      KILN_TRY_ASSIGN(const Tensor* tensor, require(name));
      output_names_[tensor] = name;
      outputs.emplace_back(fmt::format(fmt::runtime(argument_name), part), tensor);
    }
    return add_run(spec, shape, from, outputs);
  }

  // Q, K, V and their biases are thirds of a merged projection.
  void take_stream(std::map<std::string, std::span<std::byte>>& from,
                   const std::string& prefix,
                   const std::string& argument_prefix,
                   std::int64_t width,
                   std::int64_t rope_offset) {
    const auto third = static_cast<std::size_t>(2 * width);
    std::size_t begin = 0;
    for (const char* name : {"q", "k", "v"}) {
      from[argument_prefix + name] = std::span(case_.inputs.at(prefix + "qkv")).subspan(begin);
      if (const auto bias = case_.inputs.find(prefix + "bias"); bias != case_.inputs.end()) {
        from[fmt::format("{}{}_bias", argument_prefix, name)] =
            std::span(bias->second).subspan(begin);
      }
      begin += third;
    }
    for (const char* name : {"q_weight", "k_weight"}) {
      if (const auto weight = case_.inputs.find(prefix + name); weight != case_.inputs.end()) {
        from[argument_prefix + name] = weight->second;
      }
    }
    for (const char* name : {"cos", "sin"}) {
      from[argument_prefix + name] =
          std::span(case_.inputs.at(name)).subspan(static_cast<std::size_t>(4 * rope_offset));
    }
  }

  const Catalog& catalog_;
  const Safetensors& file_;
  std::string op_;
  GoldenCase case_;
  std::map<const Tensor*, std::string> output_names_;
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
