// SPDX-License-Identifier: Apache-2.0
#include "runtime/driver.h"

#include "support/shared_library.h"

#include <dlfcn.h>

namespace kiln {
namespace {

using GetProcAddress = decltype(&::cuGetProcAddress);

// The function in the form that `since` introduced; left alone if this driver is older than that.
template <typename Function>
void resolve(GetProcAddress get, const char* name, int since, Function& function) {
  void* address = nullptr;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const CUresult result = get(name, &address, since, CU_GET_PROC_ADDRESS_DEFAULT, &found);
  if (result == CUDA_SUCCESS && found == CU_GET_PROC_ADDRESS_SUCCESS) {
    function = reinterpret_cast<Function>(address);
  }
}

Status too_old(const char* missing, int since) {
  return failure(Code::unavailable, "the CUDA driver lacks {}; CUDA {}.{} or newer is needed",
                 missing, since / 1000, since % 1000 / 10);
}

}  // namespace

Result<std::shared_ptr<const Driver>> Driver::load(const std::string& library) {
  auto opened = open_library(library);
  if (!opened.is_ok()) return opened.status().with_context("the CUDA driver cannot be loaded");
  void* const handle = opened->release();  // for the life of the process
  const auto get = reinterpret_cast<GetProcAddress>(::dlsym(handle, "cuGetProcAddress_v2"));
  if (get == nullptr) return too_old("cuGetProcAddress_v2", 12000);

  std::shared_ptr<Driver> driver(new Driver);
  DriverApi& api = driver->api_;
// A name must reach `#` in the macro that the table calls: one macro further, cuda.h would have
// made cuCtxPushCurrent_v2 of cuCtxPushCurrent.
#define KILN_RESOLVE(name, since) resolve(get, #name, since, api.name);
#define KILN_REQUIRE(name, since)       \
  resolve(get, #name, since, api.name); \
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
