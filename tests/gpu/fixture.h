// SPDX-License-Identifier: Apache-2.0
#pragma once

// What GPU tests share: an engine on a cache of the test's own, buffers on the device that are
// filled and read by value, and the driver's stream and graph functions.

#include "runtime/device_memory.h"
#include "runtime/kernel.h"
#include "runtime/launch.h"
#include "tests/support/temporary_directory.h"

#include <cuda.h>
#include <doctest/doctest.h>

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace kiln::test {

#define REQUIRE_OK(...)                                                        \
  do {                                                                         \
    const Status required_status = (__VA_ARGS__);                              \
    REQUIRE_MESSAGE(required_status.is_ok(), required_status.message()         \
                                                 << "\n"                       \
                                                 << required_status.detail()); \
  } while (false)

// Stream, event-free: what the tests need of the driver and the library does not.
struct StreamApi {
  decltype(&::cuStreamCreate) create;
  decltype(&::cuStreamSynchronize) synchronize;
  decltype(&::cuStreamBeginCapture) begin_capture;
  decltype(&::cuStreamEndCapture) end_capture;
  decltype(&::cuGraphInstantiateWithFlags) instantiate;
  decltype(&::cuGraphLaunch) launch_graph;
  decltype(&::cuCtxGetCurrent) get_current;
  decltype(&::cuCtxSetCurrent) set_current;

  static StreamApi load();
};

template <typename T>
class Buffer {
 public:
  Buffer(std::shared_ptr<const Driver> driver,
         std::shared_ptr<const Device> device,
         const std::vector<T>& values)
      : count_(values.size()),
        memory_(*DeviceMemory::allocate(std::move(driver),
                                        std::move(device),
                                        values.size() * sizeof(T))) {
    set(values);
  }
  void set(const std::vector<T>& values) const {
    REQUIRE_OK(memory_.upload(memory_.address(), std::as_bytes(std::span(values))));
  }
  std::vector<T> get() const {
    std::vector<T> values(count_);
    REQUIRE_OK(memory_.download(std::as_writable_bytes(std::span(values)), memory_.address()));
    return values;
  }
  // Of element `index`.
  Argument argument(std::size_t index = 0) const {
    return Argument::of_pointer(memory_.address() + index * sizeof(T));
  }

 private:
  std::size_t count_;
  DeviceMemory memory_;
};

// In the manifest's order: pointers by name, the others null; integers as complete_arguments() has
// them.
std::vector<Argument> arguments_of(const Variant& variant,
                                   const std::vector<std::pair<std::string, Argument>>& pointers,
                                   const IntegerArguments& shape);

struct Gpu {
  TemporaryDirectory directory;
  std::shared_ptr<Devices> devices = std::make_shared<Devices>();
  std::shared_ptr<const Driver> driver = *devices->driver();
  std::shared_ptr<const Device> device = *devices->device(0);
  std::shared_ptr<Engine> engine = new_engine();

  // Another one on the same cache, as a new process would have.
  std::shared_ptr<Engine> new_engine() const {
    EngineOptions options;
    options.cache_dir = directory.path();
    return *Engine::open(std::move(options));
  }
  std::shared_ptr<Kernel> acquire(const std::string& spec) {
    auto kernel = Kernel::acquire(engine, devices, {.spec = spec});
    REQUIRE_OK(kernel.status());
    return *kernel;
  }
  template <typename T>
  Buffer<T> buffer(const std::vector<T>& values) const {
    return Buffer<T>(driver, device, values);
  }
};

}  // namespace kiln::test
