// SPDX-License-Identifier: Apache-2.0
#include "jit/cubin.h"
#include "tests/nvrtc/compile_fixture.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <locale.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace kiln {
namespace {

namespace fs = std::filesystem;
using test::must_compile;
using test::target;
using test::TemporaryDirectory;

const test::Source kAxpy = {R"(
#include "kiln/constants.cuh"
template <int kBlock, typename T>
__global__ void axpy(T* out, const T* in, long long rows, float factor) {
  __shared__ T tile[kBlock];
  tile[threadIdx.x] = in[blockIdx.x * kBlock + threadIdx.x] * T(factor) + T(kHalf);
  __syncthreads();
  if (blockIdx.x < rows) out[blockIdx.x * kBlock + threadIdx.x] = tile[kBlock - 1 - threadIdx.x];
}
)",
                            {{"kiln/constants.cuh", "constexpr double kHalf = 0.5;\n"}}};

class WorkingDirectory {
 public:
  explicit WorkingDirectory(const std::string& path) : previous_(fs::current_path()) {
    fs::current_path(path);
  }
  ~WorkingDirectory() { fs::current_path(previous_); }
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;

 private:
  fs::path previous_;
};

TEST_SUITE("compile") {
  TEST_CASE("a template compiles for every generation, and the artifact says for which") {
    const auto nvrtc = test::nvrtc();
    int compiled = 0;
    for (const Target& each : nvrtc->targets()) {
      const std::string text = each.text();
      if (!parse_target(text).is_ok()) continue;  // older than what Kiln knows
      CAPTURE(text);
      const Artifact artifact = must_compile(kAxpy, "axpy<128, float>", each);
      ++compiled;
      CHECK(artifact.target == each);
      CHECK(artifact.lowered_name == "_Z4axpyILi128EfEvPT0_PKS0_xf");
      CHECK(artifact.layout == std::vector<KernelParameter>{{0, 8}, {8, 8}, {16, 8}, {24, 4}});
      CHECK(artifact.resources.registers > 0);
      CHECK(artifact.resources.registers <= 255);
      CHECK(artifact.resources.shared_bytes == 128 * 4);
      CHECK(artifact.resources.local_bytes == 0);
      CHECK(artifact.resources.spill_bytes() == 0);
      CHECK(artifact.toolchain == nvrtc->toolchain().text());
      CHECK(artifact.compile_us > 0);
      CHECK(artifact.log.empty());
      const auto facts = read_cubin(artifact.image, artifact.lowered_name);
      REQUIRE(facts.is_ok());
      CHECK(facts->capability == each.capability);
    }
    // sm_75, sm_80, sm_89, sm_90 and sm_90a are common to all that Kiln loads.
    CHECK(compiled >= 5);
  }

  TEST_CASE("two compiles give the same bytes, wherever they run and whatever the thread") {
    const Artifact first = must_compile(kAxpy, "axpy<64, float>", target("sm_90a"));
    const TemporaryDirectory directory;
    Artifact second;
    {
      const WorkingDirectory inside(directory.path());
      std::thread([&] {
        second = must_compile(kAxpy, "axpy<64, float>", target("sm_90a"));
      }).join();
    }
    CHECK(second.image == first.image);
    CHECK(second.log == first.log);
    CHECK(second.lowered_name == first.lowered_name);
    CHECK(second.resources == first.resources);
    // Images move between machines: no path of this one may be inside.
    CHECK(second.image.find(directory.path()) == std::string::npos);
    CHECK(first.image.find(fs::current_path().string()) == std::string::npos);
  }

  TEST_CASE("the target's suffix changes the image") {
    CHECK(must_compile({R"(
__global__ void k(int* out) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  out[0] = 1;
#else
  out[1] = 2;
#endif
})"},
                       "k", target("sm_90a"))
              .image != must_compile({R"(
__global__ void k(int* out) {
  out[1] = 2;
})"},
                                     "k", target("sm_90"))
                            .image);
  }

  TEST_CASE("a file in the current directory is not read, under any spelling") {
    const TemporaryDirectory directory;
    std::ofstream(directory.file("outside.cuh")) << "#define FROM_FILE 1\n";
    fs::create_directories(directory.file("kiln"));
    std::ofstream(directory.file("kiln/constants.cuh")) << "#error the file was read\n";
    const WorkingDirectory inside(directory.path());
    for (const char* include : {"\"outside.cuh\"", "<outside.cuh>", "\"./outside.cuh\""}) {
      const auto artifact =
          test::compile_source({std::string("#include ") + include + "\n__global__ void k() {}\n"},
                               "k", target("sm_80"));
      REQUIRE_MESSAGE(!artifact.is_ok(), include);
      CHECK(artifact.status().code() == Code::compile_failed);
      CHECK(artifact.status().message().find("could not open source file") != std::string::npos);
    }
    // The name that is in the set is served from memory.
    must_compile(kAxpy, "axpy<32, float>", target("sm_80"));
  }

  TEST_CASE("headers that include each other are found by name") {
    const Artifact artifact =
        must_compile({"#include \"a/one.cuh\"\n__global__ void k(char* p) { p[0] = kOne; }\n",
                      {{"a/one.cuh", "#include \"b/two.cuh\"\nconstexpr int kOne = kTwo - 1;\n"},
                       {"b/two.cuh", "constexpr int kTwo = 2;\n"}}},
                     "k", target("sm_80"));
    CHECK(artifact.lowered_name == "_Z1kPc");
  }

  TEST_CASE("eight threads compile eight kernels at once, each its own") {
    constexpr int kThreads = 8;
    test::nvrtc();
    std::vector<Result<Artifact>> results(kThreads, failure(Code::internal, "not compiled"));
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([i, &results] {
        results[i] = test::compile_source(kAxpy, fmt::format("axpy<{}, float>", 32 * (i + 1)),
                                          target("sm_90a"));
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    for (int i = 0; i < kThreads; ++i) {
      REQUIRE_MESSAGE(results[i].is_ok(), results[i].status().message());
      CHECK(results[i]->resources.shared_bytes == 32 * (i + 1) * 4);
      CHECK(results[i]->lowered_name.find(fmt::format("Li{}E", 32 * (i + 1))) != std::string::npos);
    }
  }

  TEST_CASE("a decimal comma in the caller's locale changes nothing and stays in effect") {
    const Artifact expected = must_compile(kAxpy, "axpy<96, float>", target("sm_90a"));
    ::setenv("LOCPATH", KILN_TEST_LOCALES, 1);
    const std::string before = ::setlocale(LC_ALL, nullptr);
    bool has_comma = false;
    for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8"}) {
      has_comma = ::setlocale(LC_ALL, name) != nullptr && *::localeconv()->decimal_point == ',';
      if (has_comma) break;
    }
    if (has_comma) {
      const Artifact under_comma = must_compile(kAxpy, "axpy<96, float>", target("sm_90a"));
      CHECK(under_comma.image == expected.image);
      CHECK(*::localeconv()->decimal_point == ',');
      CHECK(::uselocale(nullptr) == LC_GLOBAL_LOCALE);
    } else {
      MESSAGE("NOT TESTED: no locale with a decimal comma could be made or found in ",
              KILN_TEST_LOCALES);
    }
    ::setlocale(LC_ALL, before.c_str());
    ::unsetenv("LOCPATH");
  }

  TEST_CASE("warnings of a good compile are kept, without the resource report") {
    const Artifact artifact =
        must_compile({"__global__ void k() { int unused_here = 1; }\n"}, "k", target("sm_80"));
    CHECK(artifact.log.find("unused_here") != std::string::npos);
    CHECK(artifact.log.find("ptxas info") == std::string::npos);
    CHECK(artifact.log.find("Compile time") == std::string::npos);
  }
}

}  // namespace
}  // namespace kiln
