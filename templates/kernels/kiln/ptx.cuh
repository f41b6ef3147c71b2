// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything that only PTX can say, and the only file that looks at the target. Where kernels run
// on a CPU, another file of this name takes its place.

#include "kiln/types.cuh"

namespace kiln {

// Rounds both to bf16.
__device__ __forceinline__ Bf16Pair round_to_bf16(float first, float second) {
  Bf16Pair pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair.bits) : "f"(second), "f"(first));
  return pair;
}

// b(a * b) and b(a + b), element by element. Before sm_90 there is only the fused form; adding -0
// or multiplying by 1 leaves one rounding and every sign of zero.
__device__ __forceinline__ Bf16Pair multiply(Bf16Pair a, Bf16Pair b) {
  Bf16Pair product;
#if __CUDA_ARCH__ >= 900
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(product.bits) : "r"(a.bits), "r"(b.bits));
#else
  asm("fma.rn.bf16x2 %0, %1, %2, %3;"
      : "=r"(product.bits)
      : "r"(a.bits), "r"(b.bits), "r"(0x80008000u));
#endif
  return product;
}

__device__ __forceinline__ Bf16Pair add(Bf16Pair a, Bf16Pair b) {
  Bf16Pair sum;
#if __CUDA_ARCH__ >= 900
  asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(sum.bits) : "r"(a.bits), "r"(b.bits));
#else
  asm("fma.rn.bf16x2 %0, %1, %2, %3;"
      : "=r"(sum.bits)
      : "r"(a.bits), "r"(0x3F803F80u), "r"(b.bits));
#endif
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

// At most 2 ulp off, and not the same on every machine.
__device__ __forceinline__ float divide_full(float a, float b) {
  float quotient;
  asm("div.full.f32 %0, %1, %2;" : "=f"(quotient) : "f"(a), "f"(b));
  return quotient;
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
