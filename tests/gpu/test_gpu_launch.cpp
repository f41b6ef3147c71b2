// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/fixture.h"

#include <limits>
#include <thread>

namespace kiln {
namespace {

using test::Gpu;
using test::StreamApi;

constexpr std::int64_t kColumns = 4096;

struct Quantization {
  explicit Quantization(Gpu& gpu)
      : kernel(gpu.acquire("static_quant")),
        x(gpu.buffer(std::vector<std::uint16_t>(kColumns, 0x3F80))),  // 1.0
        scale(gpu.buffer<float>({1.0F})),
        out(gpu.buffer(std::vector<std::uint8_t>(kColumns, 0xA5))) {}

  std::vector<Argument> arguments() const {
    return test::arguments_of(
        kernel->compiled().variant,
        {{"x", x.argument()}, {"input_scale", scale.argument()}, {"out_e4m3", out.argument()}},
        {{"rows", 1}, {"columns", kColumns}});
  }
  // One output, all of one value.
  static std::vector<std::uint8_t> all(std::uint8_t value) {
    std::vector<std::uint8_t> bytes(kColumns, value);
    return bytes;
  }

  std::shared_ptr<Kernel> kernel;
  test::Buffer<std::uint16_t> x;
  test::Buffer<float> scale;
  test::Buffer<std::uint8_t> out;
};

constexpr std::uint8_t kOne = 0x38;   // 1.0 in e4m3
constexpr std::uint8_t kHalf = 0x30;  // 0.5

CUcontext current_context(const StreamApi& api) {
  CUcontext context = nullptr;
  REQUIRE(api.get_current(&context) == CUDA_SUCCESS);
  return context;
}

}  // namespace

TEST_SUITE("Kernel") {
  TEST_CASE("the first engine compiles, a later one finds the kernel on disk, both launch it") {
    Gpu gpu;
    {
      const Quantization first(gpu);
      CHECK(first.kernel->acquired().tier == Tier::compiled);
      REQUIRE_OK(launch(*first.kernel, {}, first.arguments()));
      CHECK(first.out.get() == first.all(kOne));
    }
    gpu.engine = gpu.new_engine();
    const Quantization second(gpu);
    CHECK(second.kernel->acquired().tier == Tier::disk);
    CHECK_FALSE(gpu.engine->is_nvrtc_loaded());
    REQUIRE_OK(launch(*second.kernel, {}, second.arguments()));
    CHECK(second.out.get() == second.all(kOne));
  }

  TEST_CASE("a kernel acquired for a target is loaded by its first launch") {
    Gpu gpu;
    Quantization quantization(gpu);
    auto kernel = Kernel::acquire(
        gpu.engine, gpu.devices,
        {.spec = "static_quant", .target = default_target(gpu.device->capability).text()});
    REQUIRE_OK(kernel.status());
    REQUIRE_OK(launch(**kernel, {}, quantization.arguments()));
    CHECK(quantization.out.get() == quantization.all(kOne));
  }

  TEST_CASE("a device that does not exist is not found") {
    Gpu gpu;
    const auto kernel =
        Kernel::acquire(gpu.engine, gpu.devices, {.spec = "static_quant", .device = 4096});
    CHECK(kernel.status().code() == Code::not_found);
  }
}

TEST_SUITE("launch") {
  TEST_CASE("the caller's current context is the same afterwards") {
    Gpu gpu;
    const StreamApi api = StreamApi::load();
    Quantization quantization(gpu);
    for (CUcontext before : {CUcontext{nullptr}, gpu.device->primary}) {
      REQUIRE(api.set_current(before) == CUDA_SUCCESS);
      REQUIRE_OK(launch(*quantization.kernel, {}, quantization.arguments()));
      CHECK(current_context(api) == before);
      CHECK(gpu.acquire("static_quant:vector=4") != nullptr);
      CHECK(current_context(api) == before);
    }
    CHECK(quantization.out.get() == quantization.all(kOne));
  }

  TEST_CASE("memory that does not fit is refused when asked for, and nothing is launched") {
    Gpu gpu;
    const Quantization quantization(gpu);
    const LaunchConfig checked{.check_memory = true};
    const auto message = [&](std::size_t index, const Argument& argument) {
      std::vector<Argument> arguments = quantization.arguments();
      arguments[index] = argument;
      const Status status = launch(*quantization.kernel, checked, arguments);
      CHECK(status.code() == Code::invalid_argument);
      return status.message();
    };
    const auto has = [](const std::string& text, const char* part) {
      return text.find(part) != std::string::npos;
    };
    alignas(16) static std::uint16_t on_host[kColumns];
    CHECK(has(message(0, Argument::of_pointer(on_host)), "argument \"x\""));
    CHECK(has(message(2, quantization.x.argument()), "overlaps argument \"x\""));
    CHECK(has(message(5, Argument::of_int32(2'000'000)), "argument \"x\": it reaches over"));
    for (const float scale : {0.0F, -1.0F, std::numeric_limits<float>::quiet_NaN()}) {
      quantization.scale.set({scale});
      const std::string text = message(0, quantization.x.argument());
      CHECK_MESSAGE(has(text, "argument \"input_scale\": it is"), text);
    }
    CHECK(quantization.out.get() == quantization.all(0xA5));
    quantization.scale.set({1.0F});
    REQUIRE_OK(launch(*quantization.kernel, checked, quantization.arguments()));
    CHECK(quantization.out.get() == quantization.all(kOne));
  }

  TEST_CASE("many threads launch one kernel, with and without streams") {
    Gpu gpu;
    const StreamApi api = StreamApi::load();
    const Quantization quantization(gpu);
    std::vector<std::thread> threads;
    std::atomic<int> failures{0};
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        CUstream stream = nullptr;
        if (i % 2 == 0) {
          api.set_current(gpu.device->primary);
          if (api.create(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) ++failures;
        }
        for (int j = 0; j < 100; ++j) {
          const Status status =
              launch(*quantization.kernel, {.stream = stream}, quantization.arguments());
          if (!status.is_ok()) ++failures;
        }
        if (stream != nullptr && api.synchronize(stream) != CUDA_SUCCESS) ++failures;
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    CHECK(failures == 0);
    CHECK(quantization.out.get() == quantization.all(kOne));
  }

  TEST_CASE("a grid that the driver refuses is reported, and the next launch works") {
    Gpu gpu;
    const Quantization quantization(gpu);
    LaunchConfig config;
    config.grid = {1, 1U << 20U, 1};
    const Status status = launch(*quantization.kernel, config, quantization.arguments());
    CHECK(status.code() == Code::launch_failed);
    CHECK(status.native_code() == CUDA_ERROR_INVALID_VALUE);
    REQUIRE_OK(launch(*quantization.kernel, {}, quantization.arguments()));
    CHECK(quantization.out.get() == quantization.all(kOne));
  }

  TEST_CASE("a grid larger or smaller than the rule's gives the same bytes") {
    Gpu gpu;
    const Quantization quantization(gpu);
    LaunchConfig config;
    config.grid = {7, 3, 1};
    REQUIRE_OK(launch(*quantization.kernel, config, quantization.arguments()));
    CHECK(quantization.out.get() == quantization.all(kOne));
  }

  TEST_CASE("a block, grid or shared memory that cannot be right is refused") {
    Gpu gpu;
    const Quantization quantization(gpu);
    for (const LaunchConfig& config :
         {LaunchConfig{.block = {64, 1, 1}}, LaunchConfig{.block = {256, 0, 1}},
          LaunchConfig{.grid = {1, 0, 1}}, LaunchConfig{.shared_bytes = 1U << 30U}}) {
      const Status status = launch(*quantization.kernel, config, quantization.arguments());
      CHECK(status.code() == Code::invalid_argument);
    }
  }
}

TEST_SUITE("capture") {
  TEST_CASE("acquire and launch in a capture of any mode; a replay sees a changed input scale") {
    Gpu gpu;
    const StreamApi api = StreamApi::load();
    REQUIRE(api.set_current(gpu.device->primary) == CUDA_SUCCESS);
    CUstream stream = nullptr;
    REQUIRE(api.create(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    for (const CUstreamCaptureMode mode :
         {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
          CU_STREAM_CAPTURE_MODE_RELAXED}) {
      const Quantization quantization(gpu);
      REQUIRE(api.begin_capture(stream, mode) == CUDA_SUCCESS);
      // Loaded for the first time while the stream captures.
      const auto loaded = gpu.acquire(fmt::format("static_quant:out=e5m2,vector={}",
                                                  mode == CU_STREAM_CAPTURE_MODE_GLOBAL    ? 1
                                                  : mode == CU_STREAM_CAPTURE_MODE_RELAXED ? 2
                                                                                           : 4));
      CHECK(loaded->acquired().tier == Tier::compiled);
      REQUIRE_OK(launch(*quantization.kernel, {.stream = stream}, quantization.arguments()));
      CUgraph graph = nullptr;
      REQUIRE(api.end_capture(stream, &graph) == CUDA_SUCCESS);
      CUgraphExec executable = nullptr;
      REQUIRE(api.instantiate(&executable, graph, 0) == CUDA_SUCCESS);
      CHECK(quantization.out.get() == quantization.all(0xA5));

      REQUIRE(api.launch_graph(executable, stream) == CUDA_SUCCESS);
      REQUIRE(api.synchronize(stream) == CUDA_SUCCESS);
      CHECK(quantization.out.get() == quantization.all(kOne));
      quantization.scale.set({2.0F});
      REQUIRE(api.launch_graph(executable, stream) == CUDA_SUCCESS);
      REQUIRE(api.synchronize(stream) == CUDA_SUCCESS);
      CHECK(quantization.out.get() == quantization.all(kHalf));
    }
  }
}

}  // namespace kiln
