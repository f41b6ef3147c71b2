// SPDX-License-Identifier: Apache-2.0
#include "runtime/module.h"

#include "support/log.h"

#include <mutex>
#include <set>
#include <unordered_map>

namespace kiln {
namespace {

struct Loaded {
  std::shared_ptr<const Module> module;
  std::set<int> resident;  // ordinals of devices
};

struct LoadedModules {
  std::mutex mutex;
  std::unordered_map<Digest, Loaded, DigestHash> by_key;
};

// Never destroyed, as the code that it lists is never unloaded.
LoadedModules& loaded_modules() {
  static LoadedModules& modules = *new LoadedModules;
  return modules;
}

// Loading allocates, which a capture in global mode would refuse in this thread.
class RelaxedCaptureMode {
 public:
  explicit RelaxedCaptureMode(const Driver& driver) : driver_(driver) { exchange(); }
  ~RelaxedCaptureMode() { exchange(); }
  RelaxedCaptureMode(const RelaxedCaptureMode&) = delete;
  RelaxedCaptureMode& operator=(const RelaxedCaptureMode&) = delete;

 private:
  void exchange() {
    if (driver_.api().cuThreadExchangeStreamCaptureMode(&mode_) != CUDA_SUCCESS) {
      log(LogLevel::warning, "the thread's capture mode could not be exchanged");
    }
  }
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

Result<std::shared_ptr<const Module>> load_library(const std::shared_ptr<const Driver>& driver,
                                                   const CompiledKernel& compiled) {
  const DriverApi& api = driver->api();
  auto module = std::make_shared<Module>();
  module->driver = driver;
  KILN_TRY(driver->check(api.cuLibraryLoadData(&module->library, compiled.artifact.image.data(),
                                               nullptr, nullptr, 0, nullptr, nullptr, 0),
                         Code::load_failed, "loading the image"));
  Status found = driver->check(api.cuLibraryGetKernel(&module->kernel, module->library,
                                                      compiled.artifact.lowered_name.c_str()),
                               Code::load_failed, compiled.artifact.lowered_name);
  if (!found.is_ok()) return found;  // the library stays: see the header
  return std::shared_ptr<const Module>(std::move(module));
}

// Forces the driver's lazy load, and allows as much dynamic shared memory as there is.
Status make_resident(const Driver& driver,
                     const Device& device,
                     const Module& module,
                     const Resources& resources) {
  const DriverApi& api = driver.api();
  KILN_TRY_ASSIGN(const CurrentContext current, CurrentContext::enter_primary(driver, device));
  CUfunction function = nullptr;
  KILN_TRY(driver.check(api.cuKernelGetFunction(&function, module.kernel), Code::load_failed,
                        "loading the kernel"));
  if (api.cuFuncLoad != nullptr) {
    KILN_TRY(driver.check(api.cuFuncLoad(function), Code::load_failed, "loading the kernel"));
  }
  return driver.check(api.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                               device.most_shared_bytes - resources.shared_bytes,
                                               module.kernel, device.handle),
                      Code::load_failed, "setting the shared memory limit");
}

}  // namespace

Result<std::shared_ptr<const Module>> load_module(const std::shared_ptr<const Driver>& driver,
                                                  const Device& device,
                                                  const CompiledKernel& compiled) {
  LoadedModules& modules = loaded_modules();
  const std::lock_guard lock(modules.mutex);
  Loaded& loaded = modules.by_key[compiled.key];
  if (loaded.module != nullptr && loaded.resident.contains(device.ordinal)) return loaded.module;
  const RelaxedCaptureMode relaxed(*driver);
  if (loaded.module == nullptr) {
    KILN_TRY_ASSIGN(loaded.module, load_library(driver, compiled));
  }
  KILN_TRY(make_resident(*driver, device, *loaded.module, compiled.artifact.resources));
  loaded.resident.insert(device.ordinal);
  return loaded.module;
}

}  // namespace kiln
