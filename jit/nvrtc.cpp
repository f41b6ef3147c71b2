// SPDX-License-Identifier: Apache-2.0
#include "jit/nvrtc.h"

#include "jit/nvrtc_search.h"
#include "jit/nvrtc_status.h"
#include "support/files.h"
#include "support/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dlfcn.h>

#include <utility>

namespace kiln {
namespace {

using Loaded = std::shared_ptr<const Nvrtc>;

// CUDA 12.9 brought the family variants.
constexpr std::pair kFirstWithFamilies = {12, 9};

// What was tried and why it did not serve, one line each.
class Attempts {
 public:
  void add(std::string_view candidate, const Status& status) {
    lines_ += fmt::format("{}: {}\n", candidate, status.message());
  }
  const std::string& text() const { return lines_; }

 private:
  std::string lines_;
};

}  // namespace

Status Nvrtc::read_functions(void* library) {
  std::vector<std::string_view> missing;
#define KILN_READ_FUNCTION(name)                                              \
  api_.name = reinterpret_cast<decltype(api_.name)>(::dlsym(library, #name)); \
  if (api_.name == nullptr) missing.emplace_back(#name);
  KILN_NVRTC_FUNCTIONS(KILN_READ_FUNCTION)
#undef KILN_READ_FUNCTION
  if (missing.empty()) return {};
  return failure(Code::unavailable, "it is not NVRTC or too old: it has no {}",
                 fmt::join(missing, ", "));
}

Status Nvrtc::read_version() {
  if (const nvrtcResult result = api_.nvrtcVersion(&major_, &minor_); result != NVRTC_SUCCESS) {
    return nvrtc_failure(result, "nvrtcVersion failed");
  }
  if (std::pair(major_, minor_) < kOldestNvrtc) {
    return failure(Code::unavailable, "NVRTC {}.{} is too old; {}.{} or newer is needed", major_,
                   minor_, kOldestNvrtc.first, kOldestNvrtc.second);
  }
  int count = 0;
  nvrtcResult result = api_.nvrtcGetNumSupportedArchs(&count);
  if (result == NVRTC_SUCCESS && count > 0) {
    supported_.resize(static_cast<std::size_t>(count));
    result = api_.nvrtcGetSupportedArchs(supported_.data());
  }
  if (result != NVRTC_SUCCESS) return nvrtc_failure(result, "nvrtcGetSupportedArchs failed");
  return {};
}

Result<Loaded> Nvrtc::open(SharedLibrary library) {
  const std::shared_ptr<Nvrtc> nvrtc(new Nvrtc);
  KILN_TRY(nvrtc->read_functions(library.get()));
  KILN_TRY(nvrtc->read_version());
  nvrtc->path_ = library_path(library.get());
  const int major = nvrtc->major_;
  const int minor = nvrtc->minor_;
  KILN_TRY_ASSIGN(const std::string builtins, find_builtins(nvrtc->path_, major, minor));
  // NVRTC loads its builtins by bare name at the first compile, and from 13.0 on has no RUNPATH
  // that would find them beside it. Loaded here, they are found, and are the ones in the identity.
  KILN_TRY_ASSIGN(SharedLibrary pinned, open_library(builtins));
  KILN_TRY_ASSIGN(nvrtc->toolchain_, read_toolchain(nvrtc->path_, major, minor));
  [[maybe_unused]] void* const kept[] = {library.release(), pinned.release()};
  return Loaded(nvrtc);
}

Result<Loaded> Nvrtc::load(const NvrtcLocation& location) {
  Attempts attempts;
  const auto try_file = [&](const std::string& name) -> Loaded {
    auto library = open_library(name);
    auto loaded = library.is_ok() ? open(std::move(*library)) : Result<Loaded>(library.status());
    if (loaded.is_ok()) return *loaded;
    attempts.add(name, loaded.status());
    return nullptr;
  };

  if (location.explicit_path) {
    const std::string& given = *location.explicit_path;
    std::vector<std::string> files = {given};
    if (is_directory(given)) files = nvrtc_files_in(given);
    if (files.empty()) {
      attempts.add(given, failure(Code::not_found, "the directory holds none of {}",
                                  fmt::join(nvrtc_names(), ", ")));
    }
    for (const std::string& file : files) {
      // Without a slash the loader would search its own path for it.
      if (Loaded loaded = try_file(file.find('/') == std::string::npos ? "./" + file : file)) {
        return loaded;
      }
    }
    const std::string& tried = attempts.text();
    return Status({.code = Code::unavailable,
                   .message = fmt::format("the given NVRTC {} cannot be used: {}; correct the "
                                          "path, or leave it out to have NVRTC searched",
                                          in_quotes(given), tried.substr(0, tried.find('\n'))),
                   .detail = tried});
  }

  for (const std::string_view name : nvrtc_names()) {
    SharedLibrary library = find_loaded_library(std::string(name));
    if (!library) continue;
    auto loaded = open(std::move(library));
    if (loaded.is_ok()) return loaded;
    attempts.add(fmt::format("{}, already loaded", name), loaded.status());
  }
  if (location.remembered_path) {
    if (Loaded loaded = try_file(*location.remembered_path)) return loaded;
  }
  for (const std::string_view name : nvrtc_names()) {
    if (Loaded loaded = try_file(std::string(name))) return loaded;
  }
  for (const std::string& directory : nvrtc_directories("")) {
    const auto files = nvrtc_files_in(directory);
    if (files.empty()) attempts.add(directory, failure(Code::not_found, "holds no libnvrtc"));
    for (const std::string& file : files) {
      if (Loaded loaded = try_file(file)) return loaded;
    }
  }
  return Status({.code = Code::unavailable,
                 .message = fmt::format("no usable NVRTC found; install one of {} with its "
                                        "libnvrtc-builtins, or set KILN_NVRTC to its path",
                                        fmt::join(nvrtc_names(), ", ")),
                 .detail = attempts.text()});
}

std::vector<Target> Nvrtc::targets() const {
  const bool has_families = std::pair(major_, minor_) >= kFirstWithFamilies;
  std::vector<Target> targets;
  for (const int number : supported_) {
    const ComputeCapability capability = capability_of(number);
    targets.push_back({capability, '\0'});
    if (has_suffix(capability, 'a')) targets.push_back({capability, 'a'});
    if (has_suffix(capability, 'f') && has_families) targets.push_back({capability, 'f'});
  }
  return targets;
}

}  // namespace kiln
