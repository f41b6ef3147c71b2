// SPDX-License-Identifier: Apache-2.0
#pragma once

// A row of elements in the registers of the threads of a block.

#include "kiln/access.cuh"
#include "kiln/ptx.cuh"
#include "kiln/types.cuh"

namespace kiln {

constexpr int kRowThreads = 128;

// What one thread has of `hidden` elements: groups of four neighbours, the next group behind those
// of all other threads.
template <int hidden, typename T>
struct RowSlice {
  static_assert(hidden > 0 && hidden % 4 == 0);
  static constexpr int kRowGroups = hidden / 4;
  static constexpr int kGroups = (kRowGroups + kRowThreads - 1) / kRowThreads;
  // Whether every thread has as many groups; all counts are then compile-time constants.
  static constexpr bool kIsEven = kRowGroups % kRowThreads == 0;

  Pair<T> group[kGroups][2];

  // A group is reached by adding the constant offset(i) last: then all share one address register.
  static __device__ __forceinline__ int begin() { return 4 * threadIdx.x; }
  static constexpr __device__ int offset(int i) { return 4 * kRowThreads * i; }

  // Of a row's group.
  template <typename Element>
  static __device__ __forceinline__ Element* at(Element* row, int i) {
    return row + begin() + offset(i);
  }
  static __device__ __forceinline__ bool has_group(int i) {
    return kIsEven || i < kGroups - 1 || begin() + offset(i) < hidden;
  }

  template <int vector>
  __device__ __forceinline__ void load_group(const T* row, int i) {
    if (has_group(i)) kiln::load<vector>(at(row, i), group[i]);
  }

  template <int vector>
  __device__ __forceinline__ void load(const T* row) {
#pragma unroll
    for (int i = 0; i < kGroups; ++i)
      load_group<vector>(row, i);
  }

  // Adds a row of the same width.
  template <int vector>
  __device__ __forceinline__ void add(const T* row) {
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      if (!has_group(i)) break;
      Pair<T> term[2];
      kiln::load<vector>(at(row, i), term);
#pragma unroll
      for (int j = 0; j < 2; ++j)
        group[i][j] = kiln::add(group[i][j], term[j]);
    }
  }
};

// A row that many others meet, as weights do, for an unrolled loop over groups: `count` groups are
// in use and the `count` after them under way, all together. With as many as the row has, it stays
// in registers.
template <typename Slice, typename Group, int count, int vector>
struct GroupsAhead {
  static constexpr int kCount = count < Slice::kGroups ? count : Slice::kGroups;
  using Element = typename Group::Element;
  const Element* row;
  Group group[kCount];
  Group ahead[kCount];

  __device__ __forceinline__ void start(const Element* first) {
    row = first;
    load(0);
  }
  // Of i = 0, 1, 2, …
  __device__ __forceinline__ const Group& next(int i) {
    if (i % kCount == 0) {
#pragma unroll
      for (int j = 0; j < kCount; ++j)
        group[j] = ahead[j];
      load(i + kCount);
    }
    return group[i % kCount];
  }
  __device__ __forceinline__ void load(int begin) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      if (begin + j >= Slice::kGroups || !Slice::has_group(begin + j)) break;
      kiln::load<vector>(Slice::at(row, begin + j), ahead[j].value);
    }
  }
};

}  // namespace kiln
