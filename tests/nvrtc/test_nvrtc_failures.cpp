// SPDX-License-Identifier: Apache-2.0
#include "tests/nvrtc/compile_fixture.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

namespace kiln {
namespace {

using test::compile_source;
using test::target;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A failed compile that says everything that is needed to act on it.
Status must_fail(const test::Source& source, const std::string& name, const Target& target) {
  const auto artifact = compile_source(source, name, target);
  REQUIRE_FALSE(artifact.is_ok());
  Status status = artifact.status();
  CHECK(status.code() == Code::compile_failed);
  CHECK(status.origin() == Origin::nvrtc);
  CHECK(status.native_code() != 0);
  CHECK_FALSE(status.message().empty());
  CHECK_FALSE(contains(status.message(), "\n"));
  const auto nvrtc = test::nvrtc();
  CHECK(contains(status.detail(), "--gpu-architecture=" + target.text()));
  CHECK(contains(status.detail(), "target: " + target.text()));
  CHECK(contains(status.detail(), fmt::format("NVRTC: {}.{}", nvrtc->major(), nvrtc->minor())));
  CHECK(contains(status.detail(), nvrtc->path()));
  return status;
}

TEST_SUITE("compile failures") {
  TEST_CASE("the message is the first error, and the detail has every one") {
    std::string text = "__global__ void k() {\n";
    for (int i = 0; i < 50; ++i)
      text += fmt::format("  missing_{} = {};\n", i, i);
    const Status status = must_fail({text + "}\n", {}, "broken.cuh"}, "k", target("sm_90a"));
    CHECK(contains(status.message(), "broken.cuh(2)"));
    CHECK(contains(status.message(), "missing_0"));
    CHECK(contains(status.message(), "49 more"));
    for (int i = 0; i < 50; ++i)
      CHECK(contains(status.detail(), fmt::format("\"missing_{}\"", i)));
    CHECK_FALSE(contains(status.detail(), "remedy:"));
  }

  TEST_CASE("an error in a header names the header") {
    const Status status =
        must_fail({"#include \"kiln/bad.cuh\"\n__global__ void k() {}\n",
                   {{"kiln/bad.cuh", "\n\nconstexpr int kX = undefined_name;\n"}}},
                  "k", target("sm_80"));
    CHECK(contains(status.message(), "kiln/bad.cuh(3)"));
  }

  TEST_CASE("a missing include has a remedy") {
    const Status status =
        must_fail({"#include <cuda_fp8.h>\n__global__ void k() {}\n"}, "k", target("sm_90a"));
    CHECK(contains(status.message(), "cuda_fp8.h"));
    CHECK(contains(status.detail(), "remedy: a template can include only"));
  }

  TEST_CASE("FP8 on a target without it has a remedy") {
    const Status status = must_fail({R"(
__global__ void k(short* out, float a, float b) {
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(out[0]) : "f"(a), "f"(b));
})"},
                                    "k", target("sm_80"));
    CHECK(contains(status.detail(), "remedy: conversion to FP8 needs sm_89"));
  }

  TEST_CASE("too much static shared memory has a remedy") {
    const Status status = must_fail({R"(
__global__ void k(int* out) {
  __shared__ int tile[70000];
  tile[threadIdx.x] = out[0];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x + 1];
})"},
                                    "k", target("sm_90a"));
    CHECK(contains(status.message(), "280000 bytes of static shared memory"));
    CHECK(contains(status.detail(), "remedy: make the large arrays dynamic"));
  }

  TEST_CASE("a name expression that is not one kernel is a failure, not an artifact") {
    const test::Source source = {R"(
template <int kN> __global__ void kernel(int* out) { out[0] = kN; }
template __global__ void kernel<1>(int*);
__device__ int variable;
__device__ int function() { return 1; }
)"};
    for (const char* name : {"nothing", "nothing<3>", "kernel", "function", "kernel<1>(", "1 + 1",
                             "kernel<undefined>", "&variable"}) {
      CAPTURE(name);
      const Status status = must_fail(source, name, target("sm_90a"));
      CHECK(contains(status.detail(), std::string("name expression: ") + name));
    }
    CHECK(contains(must_fail(source, "nothing<3>", target("sm_90a")).detail(),
                   "remedy: the name expression must name exactly one"));
    CHECK(compile_source(source, "kernel<1>", target("sm_90a")).is_ok());
  }

  TEST_CASE("a failure leaves the next compile of the same thread unharmed") {
    CHECK_FALSE(must_fail({"nonsense"}, "k", target("sm_90a")).is_ok());
    CHECK(compile_source({"__global__ void k() {}\n"}, "k", target("sm_90a")).is_ok());
  }

  TEST_CASE("a target that NVRTC does not know is unsupported, and what it knows is listed") {
    for (const Target& unknown : {Target{{9, 1}, '\0'}, Target{{99, 0}, 'a'}, Target{{9, 0}, 'f'},
                                  Target{{8, 0}, 'a'}, Target{{9, 0}, 'x'}, Target{{3, 5}, '\0'}}) {
      CAPTURE(unknown.text());
      const auto artifact = compile_source({"__global__ void k() {}\n"}, "k", unknown);
      REQUIRE_FALSE(artifact.is_ok());
      CHECK(artifact.status().code() == Code::unsupported);
      CHECK(contains(artifact.status().message(), unknown.text()));
      for (const Target& known : test::nvrtc()->targets()) {
        CHECK(contains(artifact.status().message(), known.text()));
      }
    }
  }

  TEST_CASE("what cannot be passed to a compiler is refused before it runs") {
    const auto code = [](const test::Source& source, const std::string& name) {
      return compile_source(source, name, target("sm_80")).status().code();
    };
    const std::string good = "__global__ void k() {}\n";
    CHECK(code({good + std::string("\0#error", 7)}, "k") == Code::invalid_argument);
    CHECK(code({good, {{"a.cuh", std::string("\0", 1)}}}, "k") == Code::invalid_argument);
    CHECK(code({good, {{std::string("a\0b", 3), ""}}}, "k") == Code::invalid_argument);
    CHECK(code({good, {}, ""}, "k") == Code::invalid_argument);
    CHECK(code({good}, "") == Code::invalid_argument);
    CHECK(code({good}, std::string("k\0", 2)) == Code::invalid_argument);
    CHECK(code({good}, "k") == Code::ok);
  }

  TEST_CASE("a request without sources, or with an option of its own, is refused") {
    const auto nvrtc = test::nvrtc();
    const Target sm_80 = target("sm_80");
    const SourceSet sources = {{"k.cuh", "__global__ void k() {}\n"}, {}};
    CompileRequest request{.sources = nullptr,
                           .name_expression = "k",
                           .target = sm_80,
                           .options = compile_options(sm_80, nvrtc->major(), nvrtc->minor())};
    CHECK(compile(*nvrtc, request).status().code() == Code::invalid_argument);
    request.sources = &sources;
    CHECK(compile(*nvrtc, request).is_ok());
    for (const char* option : {"-I/tmp", "--use_fast_math", "--time=/tmp/x"}) {
      CompileRequest changed = request;
      changed.options.emplace_back(option);
      CHECK(compile(*nvrtc, changed).status().code() == Code::invalid_argument);
    }
    request.options.clear();
    CHECK(compile(*nvrtc, request).status().code() == Code::invalid_argument);
  }
}

}  // namespace
}  // namespace kiln
