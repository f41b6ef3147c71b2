// SPDX-License-Identifier: Apache-2.0
#pragma once

// The CUDA driver, loaded with dlopen: machines that only compile have none, and a program linked
// to libcuda.so.1 would not even start there. Never unloaded. This table is the only place that
// names driver functions; each is resolved with the version that introduced the form compiled
// against (of cuEventElapsedTime the first version, whose form is the same).

#include "support/status.h"

#include <cuda.h>

#include <memory>
#include <string>
#include <string_view>

namespace kiln {

// Without any of these there is no driver to work with.
#define KILN_DRIVER_FUNCTIONS(X)    \
  X(cuGetErrorName, 6000)           \
  X(cuGetErrorString, 6000)         \
  X(cuInit, 2000)                   \
  X(cuDriverGetVersion, 2020)       \
  X(cuDeviceGet, 2000)              \
  X(cuDeviceGetCount, 2000)         \
  X(cuDeviceGetName, 2000)          \
  X(cuDeviceGetAttribute, 2000)     \
  X(cuDevicePrimaryCtxRetain, 7000) \
  X(cuCtxGetCurrent, 4000)          \
  X(cuCtxGetDevice, 2000)           \
  X(cuCtxPushCurrent, 4000)         \
  X(cuCtxPopCurrent, 4000)          \
  X(cuLibraryLoadData, 12000)       \
  X(cuLibraryGetKernel, 12000)      \
  X(cuKernelGetFunction, 12000)     \
  X(cuKernelSetAttribute, 12000)    \
  X(cuLaunchKernelEx, 11060)        \
  X(cuThreadExchangeStreamCaptureMode, 10010)

// A missing one disables what needs it, not the library.
#define KILN_OPTIONAL_DRIVER_FUNCTIONS(X) \
  X(cuFuncLoad, 12040)                    \
  X(cuMemAlloc, 3020)                     \
  X(cuMemFree, 3020)                      \
  X(cuMemcpyHtoD, 3020)                   \
  X(cuMemcpyDtoH, 3020)                   \
  X(cuMemcpyDtoDAsync, 3020)              \
  X(cuMemsetD8, 3020)                     \
  X(cuMemGetInfo, 3020)                   \
  X(cuPointerGetAttributes, 7000)         \
  X(cuStreamCreate, 2000)                 \
  X(cuStreamDestroy, 4000)                \
  X(cuStreamBeginCapture, 10010)          \
  X(cuStreamEndCapture, 10000)            \
  X(cuEventCreate, 2000)                  \
  X(cuEventRecord, 2000)                  \
  X(cuEventSynchronize, 2000)             \
  X(cuEventElapsedTime, 2000)             \
  X(cuEventDestroy, 4000)                 \
  X(cuGraphInstantiateWithFlags, 11040)   \
  X(cuGraphLaunch, 10000)                 \
  X(cuGraphExecDestroy, 10000)            \
  X(cuGraphDestroy, 10000)

struct DriverApi {
// NOLINTNEXTLINE(bugprone-macro-parentheses): the argument is the name that is declared
#define KILN_DECLARE_FUNCTION(name, since) decltype(&::name) name = nullptr;
  KILN_DRIVER_FUNCTIONS(KILN_DECLARE_FUNCTION)
  KILN_OPTIONAL_DRIVER_FUNCTIONS(KILN_DECLARE_FUNCTION)
#undef KILN_DECLARE_FUNCTION
};

class Driver {
 public:
  // Loads, resolves and initializes. unavailable: no driver, one too old, or no device; the message
  // says which.
  static Result<std::shared_ptr<const Driver>> load(const std::string& library = "libcuda.so.1");

  const DriverApi& api() const { return api_; }
  int version() const { return version_; }  // 13000 for 13.0

  // Success, or a failure with `code`, the driver's own name and text for `result`, and `what`.
  Status check(CUresult result, Code code, std::string_view what) const;

 private:
  Driver() = default;

  DriverApi api_;
  int version_ = 0;
};

}  // namespace kiln
