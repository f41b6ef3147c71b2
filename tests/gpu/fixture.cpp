// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/fixture.h"

#include "templates/tensor.h"

#include <algorithm>

namespace kiln::test {

std::vector<Argument> arguments_of(const Variant& variant,
                                   const std::vector<std::pair<std::string, Argument>>& pointers,
                                   const IntegerArguments& shape) {
  const auto integers = complete_arguments(variant, shape);
  REQUIRE_OK(integers.status());
  const auto find = [](const auto& list, const std::string& name) {
    return std::find_if(list.begin(), list.end(),
                        [&](const auto& entry) { return entry.first == name; });
  };
  std::vector<Argument> arguments;
  for (const KernelArgument& declared : variant.manifest().arguments) {
    if (declared.kind == ArgumentKind::pointer) {
      const auto pointer = find(pointers, declared.name);
      arguments.push_back(pointer == pointers.end() ? Argument::of_pointer(nullptr)
                                                    : pointer->second);
    } else if (declared.kind == ArgumentKind::float32) {
      arguments.push_back(Argument::of_float32(1e-6F));
    } else {
      const std::int64_t value = find(*integers, declared.name)->second;
      arguments.push_back(declared.kind == ArgumentKind::int64
                              ? Argument::of_int64(value)
                              : Argument::of_int32(static_cast<std::int32_t>(value)));
    }
  }
  return arguments;
}

StreamApi StreamApi::load() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW);
  REQUIRE(library != nullptr);
  const auto resolve = [library](const char* name, auto& function) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(library, name));
    const bool is_found = function != nullptr;  // doctest cannot print a function pointer
    REQUIRE_MESSAGE(is_found, name);
  };
  StreamApi api{};
  resolve("cuStreamCreate", api.create);
  resolve("cuStreamSynchronize", api.synchronize);
  resolve("cuStreamBeginCapture_v2", api.begin_capture);
  resolve("cuStreamEndCapture", api.end_capture);
  resolve("cuGraphInstantiateWithFlags", api.instantiate);
  resolve("cuGraphLaunch", api.launch_graph);
  resolve("cuCtxGetCurrent", api.get_current);
  resolve("cuCtxSetCurrent", api.set_current);
  return api;
}

}  // namespace kiln::test
