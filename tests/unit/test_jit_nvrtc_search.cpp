// SPDX-License-Identifier: Apache-2.0
#include "jit/nvrtc.h"
#include "jit/nvrtc_search.h"
#include "jit/nvrtc_status.h"
#include "support/shared_library.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace kiln {
namespace {

namespace fs = std::filesystem;
using test::TemporaryDirectory;

TEST_SUITE("nvrtc search") {
  TEST_CASE("the default toolkit comes first, then the others, newest first by number") {
    const TemporaryDirectory root;
    for (const char* directory :
         {"usr/local/cuda-12.9/lib64", "usr/local/cuda-12.10/lib64", "usr/local/cuda-9/lib64",
          "usr/local/cuda-13.0/targets/sbsa-linux/lib", "usr/local/cuda/lib64",
          "usr/local/cuda-x/lib64", "usr/local/other/lib64", "usr/lib/aarch64-linux-gnu"}) {
      fs::create_directories(root.file(directory));
    }
    std::ofstream(root.file("usr/lib64")) << "a file";
    std::vector<std::string> expected;
    for (const char* directory :
         {"usr/local/cuda/lib64", "usr/local/cuda-13.0/targets/sbsa-linux/lib",
          "usr/local/cuda-12.10/lib64", "usr/local/cuda-12.9/lib64", "usr/local/cuda-9/lib64",
          "usr/local/cuda-x/lib64", "usr/lib/aarch64-linux-gnu", "usr/lib"}) {
      expected.push_back(root.file(directory));
    }
    CHECK(nvrtc_directories(root.path()) == expected);
  }

  TEST_CASE("an empty machine has no directories") {
    const TemporaryDirectory root;
    CHECK(nvrtc_directories(root.path()).empty());
  }

  TEST_CASE("files are listed in the order of the names, and only by those") {
    const TemporaryDirectory directory;
    for (const char* name : {"libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so", "libnvrtc.so.11.2",
                             "libnvrtc.alt.so.13"}) {
      std::ofstream(directory.file(name)) << "x";
    }
    CHECK(nvrtc_files_in(directory.path()) ==
          std::vector{directory.file("libnvrtc.so.13"), directory.file("libnvrtc.so.12")});
  }
}

Status load_failure(const std::string& explicit_path) {
  const auto nvrtc = Nvrtc::load({.explicit_path = explicit_path, .remembered_path = {}});
  CHECK_FALSE(nvrtc.is_ok());
  return nvrtc.status();
}

// Without NVRTC on the machine these still hold: an explicit path is the only one that is tried.
TEST_SUITE("Nvrtc with an explicit path") {
  TEST_CASE("a path that does not exist is unavailable, named, and the only one tried") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("libnvrtc.so.13");
    const Status status = load_failure(path);
    CHECK(status.code() == Code::unavailable);
    CHECK(status.message().find(path) != std::string::npos);
    CHECK(status.message().find('\n') == std::string::npos);
    // One line, one attempt.
    CHECK(status.detail().find(path) == 0);
    CHECK(status.detail().find('\n') == status.detail().size() - 1);
  }

  TEST_CASE("a directory without NVRTC says which files it looked for") {
    const TemporaryDirectory directory;
    const Status status = load_failure(directory.path());
    CHECK(status.code() == Code::unavailable);
    CHECK(status.message().find(directory.path()) != std::string::npos);
    CHECK(status.message().find("libnvrtc.so.13") != std::string::npos);
  }

  TEST_CASE("a file that is no library, or cut short, is unavailable with the loader's reason") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("libnvrtc.so.13");
    for (const char* text : {"", "nonsense",
                             "\x7f"
                             "ELF\2\1\1"}) {
      std::ofstream(path) << text;
      const Status status = load_failure(path);
      CHECK(status.code() == Code::unavailable);
      CHECK(status.message().find(path) != std::string::npos);
    }
  }

  TEST_CASE("a library that is not NVRTC is unavailable, and what it lacks is named") {
    const SharedLibrary other = find_loaded_library("libc.so.6");
    REQUIRE(static_cast<bool>(other));
    const std::string path = library_path(other.get());
    REQUIRE_FALSE(path.empty());
    const Status status = load_failure(path);
    CHECK(status.code() == Code::unavailable);
    CHECK(status.message().find("nvrtcCompileProgram") != std::string::npos);
  }

  TEST_CASE("a name without a slash is a file here, not a search") {
    CHECK(load_failure("libc.so.6").message().find("./libc.so.6") != std::string::npos);
  }
}

TEST_SUITE("nvrtc status") {
  TEST_CASE("codes are those that a caller acts on, and the native code survives") {
    CHECK(nvrtc_code(NVRTC_SUCCESS) == Code::ok);
    CHECK(nvrtc_code(NVRTC_ERROR_COMPILATION) == Code::compile_failed);
    CHECK(nvrtc_code(NVRTC_ERROR_OUT_OF_MEMORY) == Code::out_of_memory);
    CHECK(nvrtc_code(NVRTC_ERROR_INVALID_OPTION) == Code::unsupported);
    CHECK(nvrtc_code(NVRTC_ERROR_BUILTIN_OPERATION_FAILURE) == Code::unavailable);
    CHECK(nvrtc_code(NVRTC_ERROR_CANCELLED) == Code::cancelled);
    CHECK(nvrtc_code(NVRTC_ERROR_INVALID_PROGRAM) == Code::internal);
    const Status status = nvrtc_failure(NVRTC_ERROR_COMPILATION, "message", "log");
    CHECK(status.origin() == Origin::nvrtc);
    CHECK(status.native_code() == NVRTC_ERROR_COMPILATION);
    CHECK(status.detail() == "log");
  }
}

}  // namespace
}  // namespace kiln
