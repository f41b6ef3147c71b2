// SPDX-License-Identifier: Apache-2.0
#pragma once

// CUDA's words for a C++ compiler that knows none of them, as far as kernel templates use them.
// Arithmetic must give the GPU's bits: build with -ffp-contract=off and without fast math; every
// operation returns the one NaN that a GPU returns.

#include "execution.h"
#include "floats.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace kiln::host {

// A NaN loses against a number, and -0 is less than 0.
inline float minimum(float a, float b) {
  if (std::isnan(a)) return canonical(b);
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

inline float maximum(float a, float b) {
  if (std::isnan(a)) return canonical(b);
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

constexpr unsigned kWarpSize = 32;
inline unsigned lane() {
  return thread_index.x % kWarpSize;
}

// A lane without a source gets its own value back.
template <typename Value>
Value shuffle(std::uint32_t mask, Value value, unsigned source) {
  static_assert(sizeof(Value) == sizeof(std::uint32_t));
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  bits = exchange(mask, bits, source < kWarpSize ? source : lane());
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

}  // namespace kiln::host

// NOLINTBEGIN(bugprone-reserved-identifier): these are CUDA's names.
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
// Blocks run one after another, so one copy is enough.
#define __shared__ static

#define threadIdx (::kiln::host::thread_index)
#define blockIdx (::kiln::host::block_index)
#define blockDim (::kiln::host::block_size)
#define gridDim (::kiln::host::grid_size)

#define fminf ::kiln::host::minimum
#define fmaxf ::kiln::host::maximum
#define rsqrtf ::kiln::host::reciprocal_square_root
#define expf ::kiln::host::exponential
#define tanhf ::kiln::host::hyperbolic_tangent

inline float __uint_as_float(unsigned bits) {
  return kiln::host::float_of(bits);
}
inline unsigned __float_as_uint(float value) {
  return kiln::host::bits_of(value);
}

inline float __fadd_rn(float a, float b) {
  return kiln::host::canonical(a + b);
}
inline float __fsub_rn(float a, float b) {
  return kiln::host::canonical(a - b);
}
inline float __fmul_rn(float a, float b) {
  return kiln::host::canonical(a * b);
}
inline float __fdiv_rn(float a, float b) {
  return kiln::host::canonical(a / b);
}
inline float __frcp_rn(float a) {
  return kiln::host::canonical(1.0f / a);
}
inline float __fmaf_rn(float a, float b, float c) {
  return kiln::host::canonical(std::fma(a, b, c));
}

inline void __syncthreads() {
  kiln::host::synchronize_block();
}

template <typename Value>
Value __shfl_down_sync(unsigned mask, Value value, unsigned offset) {
  return kiln::host::shuffle(mask, value, kiln::host::lane() + offset);
}
template <typename Value>
Value __shfl_xor_sync(unsigned mask, Value value, unsigned offset) {
  return kiln::host::shuffle(mask, value, kiln::host::lane() ^ offset);
}
template <typename Value>
Value __shfl_sync(unsigned mask, Value value, unsigned source) {
  return kiln::host::shuffle(mask, value, source % kiln::host::kWarpSize);
}
// NOLINTEND(bugprone-reserved-identifier)
