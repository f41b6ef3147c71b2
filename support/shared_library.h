// SPDX-License-Identifier: Apache-2.0
#pragma once

// dlopen with owned handles and a typed failure. Knows nothing of what is in the libraries.

#include "support/status.h"
#include "support/unique_handle.h"

#include <string>

namespace kiln {

struct SharedLibraryTraits {
  using Handle = void*;
  static constexpr Handle null = nullptr;
  static void close(Handle library) noexcept;
};
using SharedLibrary = UniqueHandle<SharedLibraryTraits>;

// `name`: a path, or a bare name for the loader's search. Local symbols, bound at once.
// unavailable: the message is the loader's.
Result<SharedLibrary> open_library(const std::string& name);
// Empty unless the process has a library loaded under that name.
SharedLibrary find_loaded_library(const std::string& name);
// The file behind a loaded library, without symbolic links; empty if the loader does not say.
std::string library_path(void* library);

}  // namespace kiln
