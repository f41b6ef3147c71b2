// SPDX-License-Identifier: Apache-2.0
// The engine with templates of the user's own: changes, and what does not compile.
#include "tests/nvrtc/engine_fixture.h"
#include "tests/nvrtc/user_template.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace kiln {
namespace {

using test::acquire;
using test::kTarget;
using test::open_engine;
using test::TemporaryDirectory;
using test::write_template;

constexpr const char* kCopy =
    "#include \"inner.cuh\"\n"
    "namespace user { template <int count, unsigned gain> "
    "__global__ void copy(const float* x, float* y, int n) { if (threadIdx.x < n) "
    "y[threadIdx.x] = x[threadIdx.x] * factor() * __uint_as_float(gain); } }\n";

}  // namespace

TEST_SUITE("Engine with user templates") {
  TEST_CASE("a user template compiles, and a change two includes down is a miss") {
    const TemporaryDirectory directory;
    const TemporaryDirectory templates;
    write_template(templates.path(), kCopy);
    std::ofstream(templates.file("inner.cuh")) << "#include \"constant.cuh\"\n"
                                                  "__device__ float factor() { return value; }\n";
    std::ofstream(templates.file("constant.cuh")) << "constexpr float value = 1.0f;\n";
    EngineOptions options;
    options.environment.template_path = {templates.path()};
    const auto first = acquire(*open_engine(directory.path(), options), "copy");
    REQUIRE_MESSAGE(first.is_ok(), first.status().message() << first.status().detail());
    CHECK(acquire(*open_engine(directory.path(), options), "copy")->tier == Tier::disk);

    // Same size, same time: only the text tells.
    struct stat before {};
    REQUIRE(::stat(templates.file("constant.cuh").c_str(), &before) == 0);
    std::ofstream(templates.file("constant.cuh")) << "constexpr float value = 2.0f;\n";
    const timespec times[2] = {before.st_atim, before.st_mtim};
    REQUIRE(::utimensat(AT_FDCWD, templates.file("constant.cuh").c_str(), times, 0) == 0);
    const auto changed = acquire(*open_engine(directory.path(), options), "copy");
    CHECK(changed->tier == Tier::compiled);
    CHECK(changed->kernel->key != first->kernel->key);
  }

  TEST_CASE("a compile error carries the log, reaches every waiter and is not remembered") {
    const TemporaryDirectory directory;
    const TemporaryDirectory templates;
    write_template(templates.path(), "namespace user { int broken = ; }\n");
    EngineOptions options;
    options.environment.template_path = {templates.path()};
    const auto engine = open_engine(directory.path(), options);
    const Variant variant = *Variant::parse(engine->catalog(), "copy");
    std::vector<std::thread> threads;
    std::atomic<int> with_log{0};
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const Status status = engine->acquire(variant, kTarget, AcquireLimit::compile).status();
        if (status.code() == Code::compile_failed &&
            status.detail().find("expected an expression") != std::string::npos) {
          ++with_log;
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    CHECK(with_log == 4);
    CHECK(engine->store()->list({})->empty());
    const auto failures_before = engine->statistics().compile_failures;
    CHECK(acquire(*engine, "copy").status().code() == Code::compile_failed);
    CHECK(engine->statistics().compile_failures == failures_before + 1);
    CHECK(engine->statistics().compiles == 0);
  }
}

}  // namespace kiln
