// SPDX-License-Identifier: Apache-2.0
#include "tests/nvrtc/compile_fixture.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {
namespace {

using test::must_compile;
using test::target;

// One of each way in which a cubin is laid out.
std::vector<Target> generations() {
  std::vector<Target> generations;
  for (const Target& each : test::nvrtc()->targets()) {
    for (const char* text : {"sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"}) {
      if (each.text() == text) generations.push_back(each);
    }
  }
  CHECK(generations.size() >= 4);
  return generations;
}

// The same declarations for the device, as text, and for the host, whose layout they must have.
#define KILN_TEST_TYPES     \
  struct Mixed {            \
    int first;              \
    double second;          \
    char third;             \
  };                        \
  struct alignas(16) Wide { \
    float values[5];        \
  };                        \
  struct Empty {};          \
  struct Large {            \
    char bytes[3000];       \
  };                        \
  struct Arguments {        \
    char a;                 \
    const double* b;        \
    Mixed c;                \
    Wide d;                 \
    short e;                \
    long long f;            \
    bool g;                 \
    Large h;                \
    Empty i;                \
    float* j;               \
  };
#define KILN_TEXT_IMPL(...) #__VA_ARGS__
#define KILN_TEXT(...) KILN_TEXT_IMPL(__VA_ARGS__)

KILN_TEST_TYPES

template <typename Member>
KernelParameter expected(Member Arguments::*member) {
  static const Arguments arguments{};
  const auto offset = reinterpret_cast<const char*>(&(arguments.*member)) -
                      reinterpret_cast<const char*>(&arguments);
  return {static_cast<std::int32_t>(offset), static_cast<std::int32_t>(sizeof(Member))};
}

TEST_SUITE("parameter layout") {
  TEST_CASE("offsets and sizes are those of a struct with the same members") {
    const test::Source source = {std::string(KILN_TEXT(KILN_TEST_TYPES)) + R"(
__global__ void k(char a, const double* b, Mixed c, Wide d, short e, long long f, bool g, Large h,
                  Empty i, float* j) {
  j[0] = a + b[0] + c.second + d.values[4] + e + f + g + h.bytes[7];
})"};
    const std::vector<KernelParameter> layout = {expected(&Arguments::a), expected(&Arguments::b),
                                                 expected(&Arguments::c), expected(&Arguments::d),
                                                 expected(&Arguments::e), expected(&Arguments::f),
                                                 expected(&Arguments::g), expected(&Arguments::h),
                                                 expected(&Arguments::i), expected(&Arguments::j)};
    CHECK(layout[3] == KernelParameter{48, 32});
    for (const Target& each : generations()) {
      CAPTURE(each.text());
      CHECK(must_compile(source, "k", each).layout == layout);
    }
  }

  TEST_CASE("parameters that the kernel does not use are still there") {
    for (const Target& each : generations()) {
      CAPTURE(each.text());
      CHECK(must_compile({"__global__ void k(int a, float* b, double c) {}\n"}, "k", each).layout ==
            std::vector<KernelParameter>{{0, 4}, {8, 8}, {16, 8}});
      CHECK(must_compile({"__global__ void k() {}\n"}, "k", each).layout.empty());
    }
  }

  TEST_CASE("parameters above 4 KiB, and above 16 KiB, have their size") {
    for (const int bytes : {4200, 16380, 16384, 20000, 32748}) {
      const test::Source source = {
          fmt::format("struct Large {{ char bytes[{}]; }};\n"
                      "__global__ void k(Large a, char* b) "
                      "{{ b[0] = a.bytes[{}]; }}\n",
                      bytes, bytes - 1)};
      for (const Target& each : generations()) {
        CAPTURE(each.text());
        CAPTURE(bytes);
        const int next = (bytes + 7) / 8 * 8;
        CHECK(must_compile(source, "k", each).layout ==
              std::vector<KernelParameter>{{0, bytes}, {next, 8}});
      }
    }
  }
}

TEST_SUITE("resources") {
  TEST_CASE("static shared memory is exact, with alignment, and none is none") {
    const test::Source source = {R"(
template <int kBytes> __global__ void plain(char* out) {
  __shared__ char tile[kBytes];
  tile[threadIdx.x] = out[1];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x + 1];
}
__global__ void aligned(char* out) {
  alignas(2048) __shared__ char tile[2800];
  alignas(16) __shared__ char other[16];
  tile[threadIdx.x] = out[1];
  other[threadIdx.x & 1] = out[2];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x + 1] + other[0];
}
extern __shared__ char dynamic_tile[];
__global__ void dynamic(char* out) {
  dynamic_tile[threadIdx.x] = out[1];
  __syncthreads();
  out[threadIdx.x] = dynamic_tile[threadIdx.x + 1];
}
__global__ void none(char* out) { out[0] = 1; }
)"};
    for (const Target& each : generations()) {
      CAPTURE(each.text());
      CHECK(must_compile(source, "plain<512>", each).resources.shared_bytes == 512);
      CHECK(must_compile(source, "plain<49152>", each).resources.shared_bytes == 49152);
      CHECK(must_compile(source, "aligned", each).resources.shared_bytes == 2816);
      CHECK(must_compile(source, "dynamic", each).resources.shared_bytes == 0);
      CHECK(must_compile(source, "none", each).resources.shared_bytes == 0);
    }
  }

  TEST_CASE("registers follow the launch bounds") {
    const auto source = [](int blocks) {
      return test::Source{fmt::format(R"(
__global__ void __launch_bounds__(1024, {}) k(const float* in, float* out) {{
  float values[40];
  #pragma unroll
  for (int i = 0; i < 40; ++i) values[i] = in[i * 1024 + threadIdx.x];
  #pragma unroll
  for (int i = 0; i < 40; ++i) out[i * 1024 + threadIdx.x] = values[39 - i] * values[i];
}})",
                                      blocks)};
    };
    const Resources resources = must_compile(source(1), "k", target("sm_90a")).resources;
    CHECK(resources.registers > 40);
    CHECK(resources.registers <= 64);
    CHECK(resources.spill_bytes() == 0);
    CHECK(must_compile(source(2), "k", target("sm_90a")).resources.registers <= 32);
  }

  // More live values than the 32 registers that the launch bounds leave.
  const test::Source kSpilling = {R"(
__global__ void __launch_bounds__(1024, 2) spilling(const float* in, float* out) {
  float values[80];
  #pragma unroll
  for (int i = 0; i < 80; ++i) values[i] = in[i * 1024 + threadIdx.x];
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < 80; ++i) out[i * 1024 + threadIdx.x] = values[79 - i] * values[i] + i;
}
__global__ void lean(float* out) { out[0] = 1; }
)"};

  TEST_CASE("spilled bytes are reported, for the kernel that spills only") {
    // 2 * 1024 threads fit no SM of sm_75, sm_89 and sm_120a, where the bound is dropped.
    for (const char* text : {"sm_80", "sm_90", "sm_90a"}) {
      CAPTURE(text);
      const Resources resources = must_compile(kSpilling, "spilling", target(text)).resources;
      CHECK(resources.registers <= 32);
      CHECK(resources.spill_store_bytes > 0);
      CHECK(resources.spill_load_bytes > 0);
      CHECK(resources.local_bytes > 0);
      CHECK(must_compile(kSpilling, "lean", target(text)).resources.spill_bytes() == 0);
    }
  }

  TEST_CASE("where spills are not allowed they are a failure that says how many bytes") {
    const auto allowed = must_compile(kSpilling, "spilling", target("sm_90a"));
    const auto refused = test::compile_source(kSpilling, "spilling", target("sm_90a"), false);
    REQUIRE_FALSE(refused.is_ok());
    CHECK(refused.status().code() == Code::compile_failed);
    CHECK(refused.status().message().find(
              fmt::format("{} bytes", allowed.resources.spill_bytes())) != std::string::npos);
    // The compiler's own report agrees with what was read from the image.
    const std::string& detail = refused.status().detail();
    CHECK(detail.find(fmt::format("{} bytes spill stores, {} bytes spill loads",
                                  allowed.resources.spill_store_bytes,
                                  allowed.resources.spill_load_bytes)) != std::string::npos);
    CHECK(detail.find(fmt::format("{} bytes stack frame", allowed.resources.local_bytes)) !=
          std::string::npos);
    CHECK(detail.find(fmt::format("Used {} registers", allowed.resources.registers)) !=
          std::string::npos);
    CHECK(test::compile_source(kSpilling, "lean", target("sm_90a"), false).is_ok());
  }

  TEST_CASE("a local array counts as local memory and not as spills, in a callee too") {
    const test::Source source = {R"(
__device__ __noinline__ float pick(const float* in, int j) {
  float values[600];
  for (int i = 0; i < 600; ++i) values[i] = in[i * j];
  return values[j];
}
__global__ void calls(float* out, const float* in, int j) { out[0] = pick(in, j) + pick(in + 1, j); }
__global__ void own(float* out, const float* in, int j) {
  float values[600];
  for (int i = 0; i < 600; ++i) values[i] = in[i * j];
  out[0] = values[j];
}
)"};
    for (const Target& each : generations()) {
      CAPTURE(each.text());
      for (const char* name : {"calls", "own"}) {
        const Resources resources = must_compile(source, name, each).resources;
        CHECK(resources.local_bytes >= 2400);
        CHECK(resources.spill_bytes() == 0);
      }
    }
  }
}

}  // namespace
}  // namespace kiln
