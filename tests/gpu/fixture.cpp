// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/fixture.h"

namespace kiln::test {

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
