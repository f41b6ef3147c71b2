// SPDX-License-Identifier: Apache-2.0
// NVRTC's behaviour that a real one does not show on demand, played by fake_nvrtc.cpp.
#include "jit/compiler.h"
#include "jit/options.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace kiln {
namespace {

const std::string kDirectory = KILN_TEST_FAKE_NVRTC;

Result<std::shared_ptr<const Nvrtc>> load(const std::string& name) {
  return Nvrtc::load({.explicit_path = kDirectory + "/" + name, .remembered_path = {}});
}

std::shared_ptr<const Nvrtc> complete() {
  auto nvrtc = load("complete");
  REQUIRE_MESSAGE(nvrtc.is_ok(), nvrtc.status().message());
  return *std::move(nvrtc);
}

Status compile_status(const std::string& text, bool allow_spills = true) {
  const SourceSet sources = {{"k.cuh", text}, {}};
  const Target target = {{9, 0}, 'a'};
  return compile(*complete(), {.sources = &sources,
                               .name_expression = "k",
                               .target = target,
                               .options = compile_options(target, 77, 3),
                               .allow_spills = allow_spills})
      .status();
}

TEST_SUITE("Nvrtc") {
  TEST_CASE("version, file, toolchain and targets are those of the library at the path") {
    const auto nvrtc = complete();
    CHECK(nvrtc->major() == 77);
    CHECK(nvrtc->minor() == 3);
    CHECK(std::filesystem::equivalent(nvrtc->path(), kDirectory + "/complete/libnvrtc.so.13"));
    CHECK(nvrtc->toolchain().text().starts_with("nvrtc-77.3+"));
    std::string targets;
    for (const Target& target : nvrtc->targets())
      targets += target.text() + " ";
    CHECK(targets == "sm_90 sm_90a sm_100 sm_100a sm_100f ");
  }

  TEST_CASE("without builtins of its version it is unavailable, and what is missing is named") {
    complete();  // whose builtins are loaded and must not serve
    const auto nvrtc = load("lonely");
    REQUIRE_FALSE(nvrtc.is_ok());
    CHECK(nvrtc.status().code() == Code::unavailable);
    CHECK(nvrtc.status().message().find("libnvrtc-builtins.so.77.4") != std::string::npos);
    CHECK(nvrtc.status().message().find("install it beside") != std::string::npos);
  }

  TEST_CASE("one that is too old is unavailable, with its version and the oldest that serves") {
    const auto nvrtc = load("old");
    REQUIRE_FALSE(nvrtc.is_ok());
    CHECK(nvrtc.status().code() == Code::unavailable);
    CHECK(nvrtc.status().message().find("12.2 is too old; 12.3") != std::string::npos);
  }
}

TEST_SUITE("compile") {
  TEST_CASE("each way in which NVRTC fails has its code, and keeps the native one") {
    const std::pair<int, Code> rows[] = {{NVRTC_ERROR_OUT_OF_MEMORY, Code::out_of_memory},
                                         {NVRTC_ERROR_COMPILATION, Code::compile_failed},
                                         {NVRTC_ERROR_INTERNAL_ERROR, Code::compile_failed},
                                         {NVRTC_ERROR_INVALID_OPTION, Code::unsupported},
                                         {NVRTC_ERROR_BUILTIN_OPERATION_FAILURE, Code::unavailable},
                                         {NVRTC_ERROR_CANCELLED, Code::cancelled}};
    for (const auto& [result, code] : rows) {
      const Status status = compile_status(fmt::format("result {}\nlog one line", result));
      CHECK(status.code() == code);
      CHECK(status.native_code() == result);
      CHECK(status.origin() == Origin::nvrtc);
      CHECK(status.message() == "NVRTC_ERROR_FAKE");
      CHECK(status.detail().starts_with("one line\noptions: --gpu-architecture=sm_90a --std="));
      CHECK(status.detail().find("NVRTC: 77.3 (") != std::string::npos);
    }
  }

  TEST_CASE("an image that is empty or no cubin is a failed compile, not an artifact") {
    CHECK(compile_status("result 0\n").message().find("empty image") != std::string::npos);
    const Status status = compile_status("result 0\nimage nonsense\n");
    CHECK(status.code() == Code::compile_failed);
    CHECK(status.message().find("no cubin") != std::string::npos);
  }
}

}  // namespace
}  // namespace kiln
