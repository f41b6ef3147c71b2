// SPDX-License-Identifier: Apache-2.0
#pragma once

// The values that template parameters take, and the element types of memory. Like every file of
// this prelude: no header of CUDA or of the standard library, so that a compile needs no toolkit.

namespace kiln {

// What a kernel writes; a set. `bf16` and `f16` are the activations in their own type.
enum class Out : unsigned { residual = 1, bf16 = 2, f16 = 4, e4m3 = 8, e5m2 = 16, nvfp4 = 32 };

__device__ constexpr Out operator|(Out a, Out b) {
  return static_cast<Out>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
// Whether the set has any of `values`.
__device__ constexpr bool contains(Out set, Out values) {
  return (static_cast<unsigned>(set) & static_cast<unsigned>(values)) != 0;
}
constexpr Out kActivation = Out::bf16 | Out::f16;
constexpr Out kFp8 = Out::e4m3 | Out::e5m2;

// How 1 / input_scale is rounded.
enum class Reciprocal {
  rcp_rn,   // correctly; a NaN stays one in FP8
  div_full  // as Triton's division; a NaN becomes the largest value
};

template <typename A, typename B>
constexpr bool is_same = false;
template <typename A>
constexpr bool is_same<A, A> = true;

struct Bf16 {
  unsigned short bits;
};
struct F16 {
  unsigned short bits;
};

// Types as parameters name them.
namespace dtype {
using bf16 = Bf16;
using f16 = F16;
}  // namespace dtype

// Two neighbours of type Bf16 or F16 in one register, the first in the low half.
template <typename T>
struct Pair {
  unsigned bits;
};

struct Fp8 {
  unsigned char bits;
};

struct Fp8Pair {
  unsigned short bits;
};

// Exact. For F16 in ptx.cuh.
__device__ __forceinline__ float first(Pair<Bf16> pair) {
  return __uint_as_float(pair.bits << 16);
}
__device__ __forceinline__ float second(Pair<Bf16> pair) {
  return __uint_as_float(pair.bits & 0xFFFF0000u);
}

template <typename T>
__device__ __forceinline__ Pair<T> ones();
template <>
__device__ __forceinline__ Pair<Bf16> ones<Bf16>() {
  return {0x3F803F80u};
}
template <>
__device__ __forceinline__ Pair<F16> ones<F16>() {
  return {0x3C003C00u};
}

// Infinities become the largest finite values.
__device__ __forceinline__ Pair<F16> limit_to_finite(Pair<F16> pair) {
  if ((pair.bits & 0x7FFFu) == 0x7C00u) pair.bits -= 1;
  if ((pair.bits & 0x7FFF0000u) == 0x7C000000u) pair.bits -= 0x10000u;
  return pair;
}

}  // namespace kiln
