// SPDX-License-Identifier: Apache-2.0
#pragma once

// NVFP4: E2M1 elements, two a byte, and one E4M3 scale for each block of 16 neighbours. A third
// scale g, for the whole tensor, comes from outside. The blocks' scales lie in tiles of 512 bytes,
// each of 128 rows and 4 blocks of columns; rows and blocks that are missing to whole tiles are
// zero.

#include "kiln/access.cuh"
#include "kiln/ptx.cuh"
#include "kiln/types.cuh"

namespace kiln {

constexpr int kNvfp4Block = 16;

// What one thread has of a block, 2 * pairs elements, and the block's scale.
template <typename T, int pairs>
struct Nvfp4 {
  unsigned packed;  // 4 bits an element, the first lowest
  unsigned char scale;
};

// Exact. `code`: of a positive finite E4M3. Its digits are those of an F16 with another bias.
__device__ __forceinline__ float e4m3_to_float(unsigned code) {
  return __fmul_rn(first(Pair<F16>{code << 7}), 256.0f);
}

// The 8 / pairs lanes that hold a block call this together; they are neighbours, and the number of
// the first is a multiple of how many they are. NaNs do not count for the scale.
template <typename T, int pairs>
__device__ __forceinline__ Nvfp4<T, pairs> quantize_nvfp4(const Pair<T> (&values)[pairs], float g) {
  static_assert(pairs == 2 || pairs == 4);
  constexpr unsigned lanes = kNvfp4Block / (2 * pairs);
  const unsigned mask = ((1u << lanes) - 1) << (threadIdx.x % 32 / lanes * lanes);

  float largest = 0.0f;
#pragma unroll
  for (int i = 0; i < pairs; ++i) {
    largest = fmaxf(largest, fabsf(first(values[i])));
    largest = fmaxf(largest, fabsf(second(values[i])));
  }
#pragma unroll
  for (unsigned offset = 1; offset < lanes; offset *= 2)
    largest = fmaxf(largest, __shfl_xor_sync(mask, largest, offset));

  const float wanted = __fmul_rn(g, __fmul_rn(largest, approximate_reciprocal(6.0f)));
  const unsigned scale = convert_to_e4m3(wanted, 0.0f).bits & 0xFF;
  // Infinite where the scale is too small for E4M3.
  const float inverse =
      approximate_reciprocal(__fmul_rn(e4m3_to_float(scale), approximate_reciprocal(g)));
  const float multiplier = largest != 0.0f ? inverse : 0.0f;

  unsigned packed = 0;
#pragma unroll
  for (int i = 0; i < pairs; ++i) {
    packed |= convert_to_e2m1(__fmul_rn(first(values[i]), multiplier),
                              __fmul_rn(second(values[i]), multiplier))
              << (8 * i);
  }
  return {packed, static_cast<unsigned char>(scale)};
}

// `vector` elements at a time, two where it is 1.
template <int vector, typename T, int pairs>
__device__ __forceinline__ void store(unsigned char* address, const Nvfp4<T, pairs>& block) {
  if constexpr (vector <= 2) {
#pragma unroll
    for (int i = 0; i < pairs; ++i)
      address[i] = static_cast<unsigned char>(block.packed >> (8 * i));
  } else if constexpr (vector == 4) {
#pragma unroll
    for (int i = 0; i < pairs; i += 2)
      store_as(address + i, static_cast<unsigned short>(block.packed >> (8 * i)));
  } else {
    static_assert(pairs == 4);
    store_as(address, block.packed);
  }
}

// Tiles side by side.
__device__ __forceinline__ long long nvfp4_tiles(long long columns) {
  constexpr int tile_columns = 4 * kNvfp4Block;
  return (columns + tile_columns - 1) / tile_columns;
}

// Where the scale of block `block` of row `row` lies; `columns`: elements of a row.
__device__ __forceinline__ long long nvfp4_scale_offset(long long row,
                                                        long long block,
                                                        long long columns) {
  const long long tile = row / 128 * nvfp4_tiles(columns) + block / 4;
  const int row_in_tile = static_cast<int>(row % 128);
  return tile * 512 + row_in_tile % 32 * 16 + row_in_tile / 32 * 4 + block % 4;
}

// Writes the zeros that pad the scales. All threads of the grid call this once, in any order;
// `scales` is a multiple of 4 bytes.
__device__ __forceinline__ void pad_nvfp4_scales(unsigned char* scales,
                                                 long long rows,
                                                 long long columns) {
  const long long grid_row = static_cast<long long>(blockIdx.z) * gridDim.y + blockIdx.y;
  const long long thread = (grid_row * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
  const long long threads = static_cast<long long>(gridDim.x) * gridDim.y * gridDim.z * blockDim.x;

  const long long tiles = nvfp4_tiles(columns);
  const int blocks_missing = static_cast<int>(tiles * 4 - columns / kNvfp4Block);
  if (blocks_missing != 0) {
    for (long long row = thread; row < rows; row += threads) {
      for (int i = 1; i <= blocks_missing; ++i)
        scales[nvfp4_scale_offset(row, tiles * 4 - i, columns)] = 0;
    }
  }
  const long long rows_missing = (rows + 127) / 128 * 128 - rows;
  for (long long i = thread; i < rows_missing * tiles; i += threads) {
    const long long row = rows + i / tiles;
    store_as(scales + nvfp4_scale_offset(row, i % tiles * 4, columns), 0u);
  }
}

}  // namespace kiln
