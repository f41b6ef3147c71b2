// SPDX-License-Identifier: Apache-2.0
#pragma once

// The values that template parameters take, and the element types of memory. Like every file of
// this prelude: no header of CUDA or of the standard library, so that a compile needs no toolkit.

namespace kiln {

enum class Out : unsigned { bf16 = 1, e4m3 = 2, e5m2 = 4 };

__device__ constexpr Out operator|(Out a, Out b) {
  return static_cast<Out>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
__device__ constexpr bool contains(Out set, Out value) {
  return (static_cast<unsigned>(set) & static_cast<unsigned>(value)) != 0;
}

// The order of rounding that a kernel follows.
enum class Recipe { aten };

// How 1 / input_scale is rounded.
enum class Reciprocal {
  rcp_rn,   // correctly; a NaN stays one in FP8
  div_full  // as Triton's division; a NaN becomes the largest value
};

struct Bf16 {
  unsigned short bits;
};

// Two neighbours in one register, the first in the low half.
struct Bf16Pair {
  unsigned bits;
};

struct Fp8 {
  unsigned char bits;
};

struct Fp8Pair {
  unsigned short bits;
};

// Exact.
__device__ __forceinline__ float first(Bf16Pair pair) {
  return __uint_as_float(pair.bits << 16);
}
__device__ __forceinline__ float second(Bf16Pair pair) {
  return __uint_as_float(pair.bits & 0xFFFF0000u);
}

}  // namespace kiln
