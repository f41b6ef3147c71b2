// SPDX-License-Identifier: Apache-2.0
#pragma once

// NVRTC, loaded with dlopen. Never unloaded. Thread-safe. Found in this order: an explicit
// path (then nothing else is tried), a copy that the process has already loaded, a remembered path,
// a search.

#include "jit/target.h"
#include "jit/toolchain.h"
#include "support/shared_library.h"
#include "support/status.h"

#include <nvrtc.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kiln {

#define KILN_NVRTC_FUNCTIONS(X) \
  X(nvrtcVersion)               \
  X(nvrtcGetErrorString)        \
  X(nvrtcGetNumSupportedArchs)  \
  X(nvrtcGetSupportedArchs)     \
  X(nvrtcCreateProgram)         \
  X(nvrtcDestroyProgram)        \
  X(nvrtcAddNameExpression)     \
  X(nvrtcCompileProgram)        \
  X(nvrtcGetProgramLogSize)     \
  X(nvrtcGetProgramLog)         \
  X(nvrtcGetLoweredName)        \
  X(nvrtcGetCUBINSize)          \
  X(nvrtcGetCUBIN)

struct NvrtcApi {
  // NOLINTNEXTLINE(bugprone-macro-parentheses): the argument is the name that is declared
#define KILN_DECLARE_FUNCTION(name) decltype(&::name) name = nullptr;
  KILN_NVRTC_FUNCTIONS(KILN_DECLARE_FUNCTION)
#undef KILN_DECLARE_FUNCTION
};

// Older ones than 12.3 are refused: 12.0 and 12.1 set the locale of the whole process, and up to
// 12.2 an image depends on the working directory.
constexpr std::pair kOldestNvrtc = {12, 3};

struct NvrtcLocation {
  std::optional<std::string> explicit_path;    // KILN_NVRTC: a file, or a directory that holds it
  std::optional<std::string> remembered_path;  // from a current ToolchainMemo
};

class Nvrtc {
 public:
  // unavailable: the message gives the remedy, the detail every path tried and why it failed.
  static Result<std::shared_ptr<const Nvrtc>> load(const NvrtcLocation& location);

  const NvrtcApi& api() const { return api_; }
  int major() const { return major_; }
  int minor() const { return minor_; }
  const std::string& path() const { return path_; }  // of the file really loaded
  const Toolchain& toolchain() const { return toolchain_; }
  const std::vector<int>& supported_architectures() const { return supported_; }
  // Everything that it can compile for, oldest first: the architectures above and those of their
  // variants (sm_90a, sm_100f) that this version has.
  std::vector<Target> targets() const;

 private:
  Nvrtc() = default;
  static Result<std::shared_ptr<const Nvrtc>> open(SharedLibrary library);
  Status read_functions(void* library);
  Status read_version();

  NvrtcApi api_;
  int major_ = 0;
  int minor_ = 0;
  std::string path_;
  Toolchain toolchain_;
  std::vector<int> supported_;
};

}  // namespace kiln
