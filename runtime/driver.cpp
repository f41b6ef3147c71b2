// SPDX-License-Identifier: Apache-2.0
#include "runtime/driver.h"

#include <dlfcn.h>

namespace kiln {
namespace {

using GetProcAddress = decltype(&::cuGetProcAddress);

// The function in the form that `since` introduced; nullptr if this driver is older than that.
void* resolve(GetProcAddress get, const char* name, int since) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const CUresult result = get(name, &function, since, CU_GET_PROC_ADDRESS_DEFAULT, &found);
  if (result != CUDA_SUCCESS || found != CU_GET_PROC_ADDRESS_SUCCESS) return nullptr;
  return function;
}

Status too_old(const char* missing, int since) {
  return failure(Code::unavailable, "the CUDA driver lacks {}; CUDA {}.{} or newer is needed",
                 missing, since / 1000, since % 1000 / 10);
}

}  // namespace

Result<std::shared_ptr<const Driver>> Driver::load(const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    return Status({.code = Code::unavailable,
                   .origin = Origin::system,
                   .message = fmt::format("the CUDA driver cannot be loaded: {}",
                                          reason == nullptr ? library.c_str() : reason)});
  }
  const auto get = reinterpret_cast<GetProcAddress>(::dlsym(handle, "cuGetProcAddress_v2"));
  if (get == nullptr) return too_old("cuGetProcAddress_v2", 12000);

  std::shared_ptr<Driver> driver(new Driver);
  DriverApi& api = driver->api_;
#define KILN_RESOLVE(name, since) \
  api.name = reinterpret_cast<decltype(api.name)>(resolve(get, #name, since));
#define KILN_REQUIRE(name, since) \
  KILN_RESOLVE(name, since)       \
  if (api.name == nullptr) return too_old(#name, since);
  KILN_DRIVER_FUNCTIONS(KILN_REQUIRE)
  KILN_OPTIONAL_DRIVER_FUNCTIONS(KILN_RESOLVE)
#undef KILN_REQUIRE
#undef KILN_RESOLVE

  KILN_TRY(driver->check(api.cuInit(0), Code::unavailable, "no usable CUDA device"));
  KILN_TRY(driver->check(api.cuDriverGetVersion(&driver->version_), Code::unavailable,
                         "the driver's version"));
  return std::shared_ptr<const Driver>(std::move(driver));
}

Status Driver::check(CUresult result, Code code, std::string_view what) const {
  if (result == CUDA_SUCCESS) return {};
  const char* name = nullptr;
  const char* text = nullptr;
  if (api_.cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) name = "CUDA error";
  if (api_.cuGetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) text = "unknown";
  return Status({.code = result == CUDA_ERROR_OUT_OF_MEMORY ? Code::out_of_memory : code,
                 .origin = Origin::cuda,
                 .native_code = static_cast<int>(result),
                 .message = fmt::format("{}: {} ({})", what, text, name)});
}

}  // namespace kiln
