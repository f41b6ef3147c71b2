// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything that only PTX can say, and the only file that looks at the target. Where kernels run
// on a CPU, another file of this name takes its place.

#include "kiln/types.cuh"

namespace kiln {

__device__ __forceinline__ float first(Pair<F16> pair) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<unsigned short>(pair.bits)));
  return value;
}
__device__ __forceinline__ float second(Pair<F16> pair) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<unsigned short>(pair.bits >> 16)));
  return value;
}

// Rounds both to T.
template <typename T>
__device__ __forceinline__ Pair<T> round_to(float first, float second);
template <>
__device__ __forceinline__ Pair<Bf16> round_to<Bf16>(float first, float second) {
  Pair<Bf16> pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair.bits) : "f"(second), "f"(first));
  return pair;
}
template <>
__device__ __forceinline__ Pair<F16> round_to<F16>(float first, float second) {
  Pair<F16> pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair.bits) : "f"(second), "f"(first));
  return pair;
}

// b(a * b) and b(a + b), element by element. Before sm_90 bf16 has only the fused form; adding -0
// or multiplying by 1 leaves one rounding and every sign of zero.
__device__ __forceinline__ Pair<Bf16> multiply(Pair<Bf16> a, Pair<Bf16> b) {
  Pair<Bf16> product;
#if __CUDA_ARCH__ >= 900
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(product.bits) : "r"(a.bits), "r"(b.bits));
#else
  asm("fma.rn.bf16x2 %0, %1, %2, %3;"
      : "=r"(product.bits)
      : "r"(a.bits), "r"(b.bits), "r"(0x80008000u));
#endif
  return product;
}
__device__ __forceinline__ Pair<F16> multiply(Pair<F16> a, Pair<F16> b) {
  Pair<F16> product;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(product.bits) : "r"(a.bits), "r"(b.bits));
  return product;
}

__device__ __forceinline__ Pair<Bf16> add(Pair<Bf16> a, Pair<Bf16> b) {
  Pair<Bf16> sum;
#if __CUDA_ARCH__ >= 900
  asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(sum.bits) : "r"(a.bits), "r"(b.bits));
#else
  asm("fma.rn.bf16x2 %0, %1, %2, %3;"
      : "=r"(sum.bits)
      : "r"(a.bits), "r"(0x3F803F80u), "r"(b.bits));
#endif
  return sum;
}
__device__ __forceinline__ Pair<F16> add(Pair<F16> a, Pair<F16> b) {
  Pair<F16> sum;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum.bits) : "r"(a.bits), "r"(b.bits));
  return sum;
}

// Saturates at the largest finite value; a NaN gives 0x7F, whatever its sign. sm_89.
__device__ __forceinline__ Fp8Pair convert_to_e4m3(float first, float second) {
  Fp8Pair pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair.bits) : "f"(second), "f"(first));
  return pair;
}

__device__ __forceinline__ Fp8Pair convert_to_e5m2(float first, float second) {
  Fp8Pair pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair.bits) : "f"(second), "f"(first));
  return pair;
}

// E2M1, the first in the low four bits: ties to even, saturating at 6; a NaN gives 7, whatever its
// sign.
#if __CUDA_ARCH__ >= 1000 &&                                                          \
    (defined(__CUDA_ARCH_FAMILY_SPECIFIC__) || defined(__CUDA_ARCH_FEAT_SM100_ALL) || \
     defined(__CUDA_ARCH_FEAT_SM101_ALL) || defined(__CUDA_ARCH_FEAT_SM120_ALL))
__device__ __forceinline__ unsigned convert_to_e2m1(float first, float second) {
  unsigned pair;
  asm("{\n"
      ".reg .b8 both;\n"
      "cvt.rn.satfinite.e2m1x2.f32 both, %1, %2;\n"
      "mov.b32 %0, {both, 0, 0, 0};\n"
      "}"
      : "=r"(pair)
      : "f"(second), "f"(first));
  return pair;
}
#else
__device__ __forceinline__ unsigned convert_to_e2m1(float value) {
  const float magnitude = fminf(fabsf(value), 6.0f);
  // Multiples of 0.5: the sum has no smaller digits, and its last ones count them.
  const unsigned multiple = __float_as_uint(__fadd_rn(magnitude, 4194304.0f)) & 7;
  // One digit after the first.
  const unsigned bits = __float_as_uint(magnitude);
  const unsigned rounded = ((bits + 0x1FFFFF + (bits >> 22 & 1)) >> 22) - 2 * 126;
  const unsigned sign = value == value ? __float_as_uint(value) >> 28 & 8 : 0;
  return sign | (magnitude < 1.0f ? multiple : rounded);
}
__device__ __forceinline__ unsigned convert_to_e2m1(float first, float second) {
  return convert_to_e2m1(first) | convert_to_e2m1(second) << 4;
}
#endif

// At most 2 ulp off, and not the same on every machine.
__device__ __forceinline__ float divide_full(float a, float b) {
  float quotient;
  asm("div.full.f32 %0, %1, %2;" : "=f"(quotient) : "f"(a), "f"(b));
  return quotient;
}

// At most 1 ulp off; subnormal arguments and results are zero.
__device__ __forceinline__ float approximate_reciprocal(float value) {
  float reciprocal;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(value));
  return reciprocal;
}

// At most 2 ulp off; subnormal arguments and results are zero.
__device__ __forceinline__ float approximate_exp2(float value) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(value));
  return power;
}

// Programmatic dependent launch: nothing that an earlier kernel writes may be read, and nothing
// that it reads may be written, before this returns. Without that launch attribute both do nothing.
__device__ __forceinline__ void wait_for_earlier_kernels() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The next kernel's blocks may be scheduled; it waits for this one's results by itself.
__device__ __forceinline__ void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

}  // namespace kiln
