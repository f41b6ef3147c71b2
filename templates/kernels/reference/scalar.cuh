// SPDX-License-Identifier: Apache-2.0
#pragma once

// One element at a time, for the kernels that others are compared with: shares nothing with those
// but the conversions of kiln/ptx.cuh.

#include "kiln/ptx.cuh"
#include "kiln/types.cuh"

namespace kiln::reference {

template <typename T>
__device__ inline float to_float(T value) {
  return first(Pair<T>{value.bits});
}

template <typename T>
__device__ inline T round_to(float value) {
  return {static_cast<unsigned short>(kiln::round_to<T>(value, 0.0f).bits & 0xFFFFu)};
}

// b(value) as fp32.
template <typename T>
__device__ inline float rounded(float value) {
  return to_float(round_to<T>(value));
}

__device__ inline float inverse_of(float input_scale, Reciprocal reciprocal) {
  if (reciprocal == Reciprocal::div_full) return divide_full(1.0f, input_scale);
  return __fdiv_rn(1.0f, input_scale);
}

// `inverse`: of the input scale.
__device__ inline Fp8 quantize(float value, float inverse, Out format, Reciprocal reciprocal) {
  const float largest = format == Out::e4m3 ? 448.0f : 57344.0f;
  float scaled = __fmul_rn(value, inverse);
  if (reciprocal == Reciprocal::div_full) {
    // Triton's clamp, which turns a NaN into `largest`.
    if (!(scaled < largest)) scaled = largest;
    if (scaled < -largest) scaled = -largest;
  }
  const Fp8Pair pair =
      format == Out::e4m3 ? convert_to_e4m3(scaled, 0.0f) : convert_to_e5m2(scaled, 0.0f);
  return {static_cast<unsigned char>(pair.bits & 0xFFu)};
}

// Infinities become the largest finite value of fp16.
__device__ inline float clipped(float value) {
  if (value > 65504.0f) return 65504.0f;
  return value < -65504.0f ? -65504.0f : value;
}

template <typename T>
struct Outputs {
  T* activation;
  Fp8* e4m3;
  Fp8* e5m2;
  const float* input_scale;
};

// `value` at `element` of each output.
template <Out out, Reciprocal reciprocal, typename T>
__device__ inline void write(T value, const Outputs<T>& outputs, long long element) {
  if constexpr (contains(out, kActivation)) outputs.activation[element] = value;
  if constexpr (contains(out, kFp8)) {
    const float inverse = inverse_of(*outputs.input_scale, reciprocal);
    const float x = to_float(value);
    if (contains(out, Out::e4m3))
      outputs.e4m3[element] = quantize(x, inverse, Out::e4m3, reciprocal);
    if (contains(out, Out::e5m2))
      outputs.e5m2[element] = quantize(x, inverse, Out::e5m2, reciprocal);
  }
}

// In E2M1: the number of points half-way between neighbours that the magnitude has passed, which at
// such a point depends on which neighbour is even.
__device__ inline unsigned e2m1(float value) {
  if (value != value) return 7;
  const float magnitude = fabsf(value);
  unsigned code = 0;
  if (magnitude > 0.25f) code = 1;
  if (magnitude >= 0.75f) code = 2;
  if (magnitude > 1.25f) code = 3;
  if (magnitude >= 1.75f) code = 4;
  if (magnitude > 2.5f) code = 5;
  if (magnitude >= 3.5f) code = 6;
  if (magnitude > 5.0f) code = 7;
  return (__float_as_uint(value) >> 31) * 8 + code;
}

// Of a code without a sign.
__device__ inline float e4m3_value(unsigned code) {
  const unsigned exponent = code / 8;
  const unsigned mantissa = code % 8;
  if (exponent == 0) return static_cast<float>(mantissa) / 512.0f;
  return __uint_as_float((exponent + 120) << 23 | mantissa << 20);
}

// Writes the 8 bytes of a block of 16 and returns its scale.
__device__ inline unsigned char nvfp4_block(const float (&values)[16],
                                            float g,
                                            unsigned char* packed) {
  float largest = 0.0f;
  for (int i = 0; i < 16; ++i) {
    if (fabsf(values[i]) > largest) largest = fabsf(values[i]);
  }
  const float sixth = __fmul_rn(largest, approximate_reciprocal(6.0f));
  const unsigned scale = convert_to_e4m3(__fmul_rn(g, sixth), 0.0f).bits & 0xFFu;
  float multiplier = 0.0f;
  if (largest != 0.0f) {
    const float step = __fmul_rn(e4m3_value(scale), approximate_reciprocal(g));
    multiplier = approximate_reciprocal(step);
  }
  for (int i = 0; i < 8; ++i) {
    const unsigned low = e2m1(__fmul_rn(values[2 * i], multiplier));
    const unsigned high = e2m1(__fmul_rn(values[2 * i + 1], multiplier));
    packed[i] = static_cast<unsigned char>(low + 16 * high);
  }
  return static_cast<unsigned char>(scale);
}

// Sets the scale of block `block` of `blocks` in row `row` of `rows`, and zeros what pads the
// scales to its right and below.
__device__ inline void set_nvfp4_scale(unsigned char* scales,
                                       long long row,
                                       long long block,
                                       long long rows,
                                       long long blocks,
                                       unsigned char scale) {
  const long long padded_rows = (rows + 127) / 128 * 128;
  const long long padded_blocks = (blocks + 3) / 4 * 4;
  const long long end_row = row == rows - 1 ? padded_rows : row + 1;
  const long long end_block = block == blocks - 1 ? padded_blocks : block + 1;
  for (long long r = row; r < end_row; ++r) {
    for (long long k = block; k < end_block; ++k) {
      const long long a = r / 128;
      const long long b = r % 128 / 32;
      const long long c = r % 32;
      const long long d = k / 4;
      const long long e = k % 4;
      const long long offset = ((a * (padded_blocks / 4) + d) * 32 + c) * 16 + 4 * b + e;
      scales[offset] = r == row && k == block ? scale : 0;
    }
  }
}

}  // namespace kiln::reference
