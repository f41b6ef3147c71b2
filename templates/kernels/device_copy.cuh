// SPDX-License-Identifier: Apache-2.0

// A plain copy, 16 bytes at a time: what any kernel that moves as many bytes is measured by.

#include "kiln/access.cuh"
#include "kiln/ptx.cuh"

namespace kiln {

template <int threads, int unroll>
__global__ void __launch_bounds__(threads)
    device_copy(const unsigned char* from, unsigned char* to, long long bytes) {
  using Access = Words<unsigned, 4>;
  constexpr int step = threads * static_cast<int>(sizeof(Access));
  constexpr int block_bytes = step * unroll;
  const long long first = static_cast<long long>(blockIdx.x) * block_bytes +
                          static_cast<int>(threadIdx.x) * static_cast<int>(sizeof(Access));

  wait_for_earlier_kernels();
  for (long long begin = first; begin < bytes;
       begin += static_cast<long long>(gridDim.x) * block_bytes) {
    Access values[unroll];
#pragma unroll
    for (int i = 0; i < unroll; ++i) {
      const long long offset = begin + i * step;
      if (offset < bytes) values[i] = load_as<Access>(from + offset);
    }
#pragma unroll
    for (int i = 0; i < unroll; ++i) {
      const long long offset = begin + i * step;
      if (offset < bytes) store_as(to + offset, values[i]);
    }
  }
}

}  // namespace kiln
