// SPDX-License-Identifier: Apache-2.0
#include "jit/cubin.h"
#include "jit/nvrtc.h"
#include "tests/nvrtc/compile_fixture.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace kiln {
namespace {

namespace fs = std::filesystem;

TEST_SUITE("Nvrtc") {
  TEST_CASE("the library found knows its version, its file and what it can compile for") {
    const auto nvrtc = test::nvrtc();
    CHECK(std::pair(nvrtc->major(), nvrtc->minor()) >= kOldestNvrtc);
    CHECK(fs::is_regular_file(nvrtc->path()));
    CHECK(fs::canonical(nvrtc->path()) == nvrtc->path());
    CHECK(nvrtc->toolchain().major == nvrtc->major());
    CHECK(nvrtc->toolchain().minor == nvrtc->minor());
    CHECK(nvrtc->toolchain().library_bytes ==
          static_cast<std::int64_t>(fs::file_size(nvrtc->path())));
    CHECK(nvrtc->toolchain().builtins != Digest{});
    const auto targets = nvrtc->targets();
    CHECK(std::find(targets.begin(), targets.end(), test::target("sm_90a")) != targets.end());
    CHECK(std::find(targets.begin(), targets.end(), test::target("sm_80")) != targets.end());
    CHECK(std::is_sorted(targets.begin(), targets.end()));
  }

  TEST_CASE("loading again, from many threads too, gives the library that is loaded") {
    const auto first = test::nvrtc();
    std::vector<std::string> paths(8);
    std::vector<std::thread> threads;
    for (std::string& path : paths) {
      threads.emplace_back([&path] {
        const auto again = Nvrtc::load({});
        if (again.is_ok()) path = (*again)->path() + (*again)->toolchain().text();
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    for (const std::string& path : paths)
      CHECK(path == first->path() + first->toolchain().text());
    // A remembered path does not outrank the library that is loaded.
    const auto remembered = Nvrtc::load({.explicit_path = {}, .remembered_path = "/nowhere/x.so"});
    REQUIRE(remembered.is_ok());
    CHECK((*remembered)->path() == first->path());
  }

  TEST_CASE("an explicit file or directory serves, through a link too") {
    const auto first = test::nvrtc();
    const fs::path file = first->path();
    const test::TemporaryDirectory directory;
    const std::string link = directory.file("any name");
    fs::create_symlink(file, link);
    for (const std::string& path : {file.string(), file.parent_path().string(), link}) {
      const auto nvrtc = Nvrtc::load({.explicit_path = path, .remembered_path = {}});
      REQUIRE_MESSAGE(nvrtc.is_ok(), nvrtc.status().message());
      CHECK((*nvrtc)->path() == first->path());
      CHECK((*nvrtc)->toolchain() == first->toolchain());
    }
  }

  TEST_CASE("an explicit path that fails is not replaced by the library that is loaded") {
    const auto first = test::nvrtc();
    const test::TemporaryDirectory directory;
    const auto nvrtc =
        Nvrtc::load({.explicit_path = directory.file("libnvrtc.so.13"), .remembered_path = {}});
    REQUIRE_FALSE(nvrtc.is_ok());
    CHECK(nvrtc.status().code() == Code::unavailable);
  }

  TEST_CASE("the identity is that of the file, and a memo of it is current") {
    const auto nvrtc = test::nvrtc();
    const auto toolchain = read_toolchain(nvrtc->path(), nvrtc->major(), nvrtc->minor());
    REQUIRE(toolchain.is_ok());
    CHECK(*toolchain == nvrtc->toolchain());
    CHECK(parse_toolchain(nvrtc->toolchain().text()).is_ok());
    const auto memo = make_memo(nvrtc->path(), nvrtc->toolchain());
    REQUIRE(memo.is_ok());
    CHECK(is_current(*memo));
    CHECK(memo->toolchain == nvrtc->toolchain().text());
  }
}

}  // namespace
}  // namespace kiln
