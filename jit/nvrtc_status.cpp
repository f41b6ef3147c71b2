// SPDX-License-Identifier: Apache-2.0
#include "jit/nvrtc_status.h"

#include <utility>

namespace kiln {

Code nvrtc_code(nvrtcResult result) {
  switch (result) {
    case NVRTC_SUCCESS:
      return Code::ok;
    case NVRTC_ERROR_OUT_OF_MEMORY:
      return Code::out_of_memory;
    // Options come from our table, so one that is refused means that this NVRTC lacks something.
    case NVRTC_ERROR_INVALID_OPTION:
      return Code::unsupported;
    case NVRTC_ERROR_BUILTIN_OPERATION_FAILURE:
      return Code::unavailable;
    case NVRTC_ERROR_CANCELLED:
      return Code::cancelled;
    case NVRTC_ERROR_COMPILATION:
    case NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID:
    // A crash of the compiler's own on this source; another source may well compile.
    case NVRTC_ERROR_INTERNAL_ERROR:
      return Code::compile_failed;
    default:
      return Code::internal;
  }
}

Status nvrtc_failure(nvrtcResult result, std::string message, std::string detail) {
  return Status({.code = nvrtc_code(result),
                 .origin = Origin::nvrtc,
                 .native_code = static_cast<int>(result),
                 .message = std::move(message),
                 .detail = std::move(detail)});
}

}  // namespace kiln
