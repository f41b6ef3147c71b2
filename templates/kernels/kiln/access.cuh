// SPDX-License-Identifier: Apache-2.0
#pragma once

// Memory accesses of `vector` elements at a time: the address must be a multiple of that many.

#include "kiln/types.cuh"

namespace kiln {

template <typename Word, int count>
struct alignas(sizeof(Word) * count) Words {
  Word word[count];
};

template <typename To, typename From>
__device__ __forceinline__ To load_as(const From* address) {
  return *reinterpret_cast<const To*>(address);
}

template <typename To, typename From>
__device__ __forceinline__ void store_as(From* address, To value) {
  *reinterpret_cast<To*>(address) = value;
}

template <int vector, int pairs>
__device__ __forceinline__ void load(const Bf16* address, Bf16Pair (&values)[pairs]) {
  if constexpr (vector == 1) {
#pragma unroll
    for (int i = 0; i < pairs; ++i) {
      const unsigned low = address[2 * i].bits;
      const unsigned high = address[2 * i + 1].bits;
      values[i].bits = low | high << 16;
    }
  } else {
    using Access = Words<unsigned, vector / 2>;
#pragma unroll
    for (int i = 0; i < pairs; i += vector / 2) {
      const Access access = load_as<Access>(address + 2 * i);
#pragma unroll
      for (int j = 0; j < vector / 2; ++j)
        values[i + j].bits = access.word[j];
    }
  }
}

template <int vector, int pairs>
__device__ __forceinline__ void store(Bf16* address, const Bf16Pair (&values)[pairs]) {
  if constexpr (vector == 1) {
#pragma unroll
    for (int i = 0; i < pairs; ++i) {
      address[2 * i].bits = static_cast<unsigned short>(values[i].bits);
      address[2 * i + 1].bits = static_cast<unsigned short>(values[i].bits >> 16);
    }
  } else {
    using Access = Words<unsigned, vector / 2>;
#pragma unroll
    for (int i = 0; i < pairs; i += vector / 2) {
      Access access;
#pragma unroll
      for (int j = 0; j < vector / 2; ++j)
        access.word[j] = values[i + j].bits;
      store_as(address + 2 * i, access);
    }
  }
}

template <int vector, int pairs>
__device__ __forceinline__ void store(Fp8* address, const Fp8Pair (&values)[pairs]) {
  if constexpr (vector == 1) {
#pragma unroll
    for (int i = 0; i < pairs; ++i) {
      address[2 * i].bits = static_cast<unsigned char>(values[i].bits);
      address[2 * i + 1].bits = static_cast<unsigned char>(values[i].bits >> 8);
    }
  } else if constexpr (vector == 2) {
#pragma unroll
    for (int i = 0; i < pairs; ++i)
      store_as(address + 2 * i, values[i].bits);
  } else {
    using Access = Words<unsigned, vector / 4>;
#pragma unroll
    for (int i = 0; i < pairs; i += vector / 2) {
      Access access;
#pragma unroll
      for (int j = 0; j < vector / 4; ++j) {
        const unsigned low = values[i + 2 * j].bits;
        const unsigned high = values[i + 2 * j + 1].bits;
        access.word[j] = low | high << 16;
      }
      store_as(address + 2 * i, access);
    }
  }
}

// A single element, the first of the pair; the second is zero.
__device__ __forceinline__ Bf16Pair load_one(const Bf16* address) {
  return {address->bits};
}
__device__ __forceinline__ void store_one(Fp8* address, Fp8Pair value) {
  address->bits = static_cast<unsigned char>(value.bits);
}

// Where row `row` of a tensor [batches, rows_per_batch, columns] begins, in elements.
__device__ __forceinline__ long long row_offset(unsigned row,
                                                unsigned rows_per_batch,
                                                long long row_stride,
                                                long long batch_stride) {
  const unsigned batch = row / rows_per_batch;
  return batch * batch_stride + (row - batch * rows_per_batch) * row_stride;
}

}  // namespace kiln
