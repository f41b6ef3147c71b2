// SPDX-License-Identifier: Apache-2.0

#include "tests/host_device/cpu_backend.h"

#include "tests/host_device/cpu_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

namespace kiln {
namespace {

// The newest that any shipped template asks for: no form of a kernel is left out.
constexpr ComputeCapability kCapability = {9, 0};

std::string manifest_signature(const Manifest& manifest) {
  std::string text;
  for (const KernelArgument& argument : manifest.arguments) {
    switch (argument.kind) {
      case ArgumentKind::pointer:
        text += 'p';
        break;
      case ArgumentKind::int32:
        text += 'i';
        break;
      case ArgumentKind::int64:
        text += 'l';
        break;
      case ArgumentKind::float32:
        text += 'f';
        break;
    }
  }
  return text;
}

// One argument in memory; a kernel reads the part that its type needs.
union Value {
  void* pointer;
  int int32;
  long long int64;
  float float32;
};

template <typename Type>
Result<Type> find(const std::vector<std::pair<std::string, Type>>& list, std::string_view name) {
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  if (found == list.end()) {
    return failure(Code::invalid_argument, "argument \"{}\" is not given", name);
  }
  return found->second;
}

Result<Value> integer_value(const KernelArgument& argument,
                            bool is_used,
                            std::int64_t multiple_of,
                            const KernelArguments& arguments) {
  KILN_TRY_ASSIGN(const std::int64_t number, find(arguments.integers, argument.name));
  const bool is_wrong = number % multiple_of != 0 || (argument.min && number < *argument.min);
  if (is_wrong && (is_used || number != 0)) {
    return failure(Code::invalid_argument, "argument \"{}\" is {}; allowed: multiples of {}{}",
                   argument.name, number, multiple_of,
                   argument.min ? fmt::format(" from {} on", *argument.min) : "");
  }
  Value value{};
  if (argument.kind == ArgumentKind::int32) {
    value.int32 = static_cast<int>(number);
  } else {
    value.int64 = number;
  }
  return value;
}

Result<Value> pointer_value(const KernelArgument& argument,
                            bool is_used,
                            std::int64_t multiple_of,
                            const KernelArguments& arguments) {
  Value value{};
  value.pointer = nullptr;
  if (!is_used) return value;
  KILN_TRY_ASSIGN(const std::span<std::byte> memory, find(arguments.pointers, argument.name));
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  if (address % static_cast<std::uintptr_t>(multiple_of) != 0) {
    return failure(Code::invalid_argument,
                   "the address of argument \"{}\" is {:#x}; allowed: multiples of {}",
                   argument.name, address, multiple_of);
  }
  value.pointer = memory.data();
  return value;
}

Result<std::vector<Value>> make_values(const Manifest& manifest,
                                       const Specialization& specialization,
                                       const KernelArguments& arguments) {
  std::vector<Value> values(manifest.arguments.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const KernelArgument& argument = manifest.arguments[i];
    const std::int64_t multiple_of = specialization.multiple_of[i];
    const bool is_used = specialization.is_used[i];
    switch (argument.kind) {
      case ArgumentKind::pointer: {
        KILN_TRY_ASSIGN(values[i], pointer_value(argument, is_used, multiple_of, arguments));
        break;
      }
      case ArgumentKind::int32:
      case ArgumentKind::int64: {
        KILN_TRY_ASSIGN(values[i], integer_value(argument, is_used, multiple_of, arguments));
        break;
      }
      case ArgumentKind::float32: {
        KILN_TRY_ASSIGN(values[i].float32, find(arguments.reals, argument.name));
        break;
      }
    }
  }
  return values;
}

host::Index index_of(const std::int64_t (&extent)[3]) {
  return {static_cast<unsigned>(extent[0]), static_cast<unsigned>(extent[1]),
          static_cast<unsigned>(extent[2])};
}

}  // namespace

std::string default_cpu_compiler() {
  return KILN_CPU_COMPILER;
}

std::vector<std::string> default_cpu_flags() {
  constexpr std::string_view kSanitizers = KILN_CPU_SANITIZERS;
  if (kSanitizers.empty()) return {};
  return {fmt::format("-fsanitize={}", kSanitizers), "-fno-sanitize-recover=all"};
}

CpuBackend::CpuBackend(CpuBackendOptions options, std::string directory)
    : options_(std::move(options)), directory_(std::move(directory)) {}

Result<std::unique_ptr<CpuBackend>> CpuBackend::create(CpuBackendOptions options) {
  std::error_code error;
  std::string directory =
      (std::filesystem::temp_directory_path(error) / "kiln-cpu-XXXXXX").string();
  if (error) return system_failure(Code::io, error.value(), "temporary directory");
  if (mkdtemp(directory.data()) == nullptr) return system_failure(Code::io, errno, directory);
  return std::unique_ptr<CpuBackend>(new CpuBackend(std::move(options), std::move(directory)));
}

CpuBackend::~CpuBackend() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

Result<CpuBackend::Compiled> CpuBackend::build(const Variant& variant,
                                               const std::string& directory) const {
  Compiled compiled;
  KILN_TRY_ASSIGN(compiled.specialization, specialize(variant, kCapability));
  KILN_TRY_ASSIGN(
      const std::string path,
      build_cpu_library(variant.source().sources, compiled.specialization.name_expression,
                        options_.compiler, options_.flags, directory));
  KILN_TRY_ASSIGN(compiled.library, open_library(path));
  compiled.kernel =
      reinterpret_cast<void (*)(void**)>(dlsym(compiled.library.get(), "kiln_kernel"));
  const auto signature =
      reinterpret_cast<const char* (*)()>(dlsym(compiled.library.get(), "kiln_signature"));
  if (compiled.kernel == nullptr || signature == nullptr) {
    return failure(Code::load_failed, "{} has no kernel", path);
  }
  if (manifest_signature(variant.manifest()) != signature()) {
    return failure(Code::internal, R"(the kernel takes arguments "{}", its manifest says "{}")",
                   signature(), manifest_signature(variant.manifest()));
  }
  return compiled;
}

Result<const CpuBackend::Compiled*> CpuBackend::compile(const Variant& variant) {
  const std::string spec = variant.spec();
  if (const auto found = compiled_.find(spec); found != compiled_.end()) return &found->second;
  const std::filesystem::path directory =
      std::filesystem::path(directory_) / std::to_string(compiled_.size());
  std::error_code error;
  std::filesystem::create_directory(directory, error);
  if (error) return system_failure(Code::io, error.value(), directory.string());
  KILN_TRY_ASSIGN(Compiled compiled, build(variant, directory.string()));
  return &compiled_.emplace(spec, std::move(compiled)).first->second;
}

Status CpuBackend::run(const Variant& variant, const KernelArguments& arguments) {
  KILN_TRY_ASSIGN(const Compiled* compiled, compile(variant));
  const Specialization& specialization = compiled->specialization;
  KILN_TRY_ASSIGN(std::vector<Value> values,
                  make_values(variant.manifest(), specialization, arguments));
  KILN_TRY_ASSIGN(const LaunchShape shape,
                  launch_shape(variant, specialization, arguments.integers, options_.sm_count));
  std::vector<void*> pointers;
  pointers.reserve(values.size());
  for (Value& value : values)
    pointers.push_back(&value);

  const host::Grid grid = {.blocks = index_of(shape.grid),
                           .threads = {static_cast<unsigned>(shape.block), 1, 1},
                           .order = order_};
  return host::run_grid(grid, [&] { compiled->kernel(pointers.data()); })
      .with_context(variant.spec());
}

}  // namespace kiln
