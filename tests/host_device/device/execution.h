// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a kernel that runs on the CPU asks of the program that runs it: its indices, the points at
// which threads meet, and the results of instructions that only a GPU has. Includes nothing of the
// project, since compiled kernels see it outside the source tree.

#include <cstdint>

namespace kiln::host {

struct Index {
  unsigned x = 0;
  unsigned y = 0;
  unsigned z = 0;
};

// Those of the thread that runs now.
extern Index thread_index, block_index, block_size, grid_size;

// Returns when every thread of the block has called it.
void synchronize_block();

// Returns what lane `source` of this warp passed as `value`, when every lane of `mask` has called.
std::uint32_t exchange(std::uint32_t mask, std::uint32_t value, unsigned source);

// The GPU's rsqrtf, where its result for this argument is known; else correctly rounded.
float reciprocal_square_root(float value);
// The GPU's expf and tanhf, likewise.
float exponential(float value);
float hyperbolic_tangent(float value);
// The GPU's div.full.f32 of 1 where its result is known; else correctly rounded.
float divide_full(float a, float b);

}  // namespace kiln::host
