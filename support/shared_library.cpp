// SPDX-License-Identifier: Apache-2.0
#include "support/shared_library.h"

#include "support/log.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <memory>

namespace kiln {
namespace {

std::string last_loader_error() {
  const char* error = ::dlerror();  // NOLINT(concurrency-mt-unsafe): per thread in glibc
  return error == nullptr ? "unknown error" : error;
}

}  // namespace

void SharedLibraryTraits::close(Handle library) noexcept {
  if (::dlclose(library) != 0) log(LogLevel::warning, "dlclose: {}", last_loader_error());
}

Result<SharedLibrary> open_library(const std::string& name) {
  SharedLibrary library(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!library) return failure(Code::unavailable, "{}", last_loader_error());
  return library;
}

SharedLibrary find_loaded_library(const std::string& name) {
  return SharedLibrary(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD));
}

std::string library_path(void* library) {
  link_map* map = nullptr;
  if (::dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr) {
    return {};
  }
  struct Free {
    void operator()(char* text) const noexcept { std::free(text); }  // NOLINT: from realpath
  };
  const std::unique_ptr<char, Free> resolved(::realpath(map->l_name, nullptr));
  return resolved == nullptr ? map->l_name : resolved.get();
}

}  // namespace kiln
