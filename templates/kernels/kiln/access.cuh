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

template <int vector, typename T, int pairs>
__device__ __forceinline__ void load(const T* address, Pair<T> (&values)[pairs]) {
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

template <int vector, typename T, int pairs>
__device__ __forceinline__ void store(T* address, const Pair<T> (&values)[pairs]) {
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

template <int vector, int count>
__device__ __forceinline__ void load(const float* address, float (&values)[count]) {
  constexpr int width = vector < 4 ? vector : 4;
  using Access = Words<float, width>;
#pragma unroll
  for (int i = 0; i < count; i += width) {
    const Access access = load_as<Access>(address + i);
#pragma unroll
    for (int j = 0; j < width; ++j)
      values[i + j] = access.word[j];
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
template <typename T>
__device__ __forceinline__ Pair<T> load_one(const T* address) {
  return {address->bits};
}
__device__ __forceinline__ void store_one(Fp8* address, Fp8Pair value) {
  address->bits = static_cast<unsigned char>(value.bits);
}

// A row of a tensor [batches, rows, columns] of which the columns are dense.
struct RowIndex {
  unsigned batch;
  unsigned row;
};

// The `number`-th of the rows of all batches.
__device__ __forceinline__ RowIndex row_index(unsigned number, unsigned rows_per_batch) {
  // Most often there is one batch, and a division costs as much as a tenth of a row.
  if (number < rows_per_batch) return {0, number};
  const unsigned batch = number / rows_per_batch;
  return {batch, number - batch * rows_per_batch};
}

struct RowStride {
  long long row;
  long long batch;

  // Elements before the row.
  __device__ __forceinline__ long long offset(RowIndex index) const {
    return index.batch * batch + index.row * row;
  }
};

}  // namespace kiln
