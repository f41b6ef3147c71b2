// SPDX-License-Identifier: Apache-2.0
#include "tests/nvrtc/compile_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace kiln {
namespace {

const std::string kName = "norm<1024, float>";
const std::string kText = R"(
template <int kBlock, typename T>
__global__ void norm(T* out, const T* in, int columns, float epsilon) {
  __shared__ float sums[kBlock];
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += kBlock) {
    const float value = in[blockIdx.x * columns + i];
    sum += value * value;
  }
  sums[threadIdx.x] = sum;
  for (int step = kBlock / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) sums[threadIdx.x] += sums[threadIdx.x + step];
  }
  __syncthreads();
  const float scale = rsqrtf(sums[0] / columns + epsilon);
  for (int i = threadIdx.x; i < columns; i += kBlock) {
    out[blockIdx.x * columns + i] = T(in[blockIdx.x * columns + i] * scale);
  }
}
)";

// NVRTC alone, with the least that gives an image and its kernel's name.
std::size_t compile_bare(const Nvrtc& nvrtc, const std::vector<std::string>& options) {
  const NvrtcApi& api = nvrtc.api();
  nvrtcProgram program = nullptr;
  REQUIRE(api.nvrtcCreateProgram(&program, kText.c_str(), "norm.cuh", 0, nullptr, nullptr) ==
          NVRTC_SUCCESS);
  REQUIRE(api.nvrtcAddNameExpression(program, kName.c_str()) == NVRTC_SUCCESS);
  std::vector<const char*> texts;
  for (const std::string& option : options)
    texts.push_back(option.c_str());
  REQUIRE(api.nvrtcCompileProgram(program, static_cast<int>(texts.size()), texts.data()) ==
          NVRTC_SUCCESS);
  const char* lowered = nullptr;
  REQUIRE(api.nvrtcGetLoweredName(program, kName.c_str(), &lowered) == NVRTC_SUCCESS);
  std::size_t size = 0;
  REQUIRE(api.nvrtcGetCUBINSize(program, &size) == NVRTC_SUCCESS);
  std::string image(size, '\0');
  REQUIRE(api.nvrtcGetCUBIN(program, image.data()) == NVRTC_SUCCESS);
  REQUIRE(api.nvrtcDestroyProgram(&program) == NVRTC_SUCCESS);
  return size;
}

template <typename Work>
double seconds(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Medians of ten compiles each, in turn, so that load on the machine meets both.
double measure_ratio() {
  const auto nvrtc = test::nvrtc();
  const Target target = test::target("sm_90a");
  const auto options = compile_options(target, nvrtc->major(), nvrtc->minor());
  std::vector<double> bare;
  std::vector<double> ours;
  for (int i = 0; i < 11; ++i) {
    const double alone = seconds([&] { CHECK(compile_bare(*nvrtc, options) > 0); });
    const double with_kiln = seconds([&] {
      test::must_compile({kText, {}, "norm.cuh"}, kName, target);
    });
    if (i == 0) continue;  // warm-up
    bare.push_back(alone);
    ours.push_back(with_kiln);
  }
  const double ratio = median(ours) / median(bare);
  MESSAGE("median NVRTC ", median(bare) * 1e3, " ms, compile() ", median(ours) * 1e3, " ms, ratio ",
          ratio);
  return ratio;
}

TEST_SUITE("compile overhead") {
  TEST_CASE("compile() takes at most 1.3 times as long as NVRTC alone") {
    constexpr double kMost = 1.3;
    // A busy machine can spoil one measurement; a cost of ours spoils them all.
    double ratio = measure_ratio();
    for (int i = 0; i < 2 && ratio > kMost; ++i)
      ratio = std::min(ratio, measure_ratio());
    CHECK(ratio <= kMost);
  }
}

}  // namespace
}  // namespace kiln
