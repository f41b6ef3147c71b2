// SPDX-License-Identifier: Apache-2.0

// What qkv_epilogue must equal: a thread for each head of each tensor, one element and one
// operation after another. An oracle's threads, or lanes, are elements of an array here.

#include "kiln/qkv_types.cuh"
#include "kiln/types.cuh"
#include "reference/scalar.cuh"

namespace kiln::reference {

// Lane i takes lane i + offset's, from the largest offset to the smallest; the first has the total.
__device__ inline float folded(float* lanes, int count) {
  for (int offset = count / 2; offset > 0; offset /= 2) {
    for (int lane = 0; lane < offset; ++lane)
      lanes[lane] = __fadd_rn(lanes[lane], lanes[lane + offset]);
  }
  return lanes[0];
}

// PyTorch's RMSNorm: 128 threads take groups of four. `element(i)`: the i-th of `count`.
template <typename Element>
__device__ float square_sum_eager_flux2(const Element& element, int count) {
  float threads[128];
  for (int thread = 0; thread < 128; ++thread) {
    threads[thread] = 0.0f;
    for (int group = thread; group < count / 4; group += 128) {
      for (int i = 4 * group; i < 4 * group + 4; ++i)
        threads[thread] = __fmaf_rn(element(i), element(i), threads[thread]);
    }
  }
  float warps[4];
  for (int warp = 0; warp < 4; ++warp)
    warps[warp] = folded(threads + 32 * warp, 32);
  const float even = __fadd_rn(warps[0], warps[2]);
  const float odd = __fadd_rn(warps[1], warps[3]);
  return __fadd_rn(even, odd);
}

// PyTorch's mean of squares, each of which it has rounded before.
template <typename Element>
__device__ float square_sum_eager_qwen(const Element& element, int count) {
  float lanes[32];
  for (int lane = 0; lane < 32; ++lane) {
    const int width = count == 64 ? 1 : 4;
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int begin = width * lane; begin < count; begin += width * 32) {
      for (int e = 0; e < width; ++e) {
        const float square = __fmul_rn(element(begin + e), element(begin + e));
        sums[e] = __fadd_rn(sums[e], square);
      }
    }
    lanes[lane] = __fadd_rn(__fadd_rn(__fadd_rn(sums[0], sums[1]), sums[2]), sums[3]);
  }
  return folded(lanes, 32);
}

template <typename Element>
__device__ float square_sum_fp32_through(const Element& element, int count) {
  float lanes[32];
  for (int lane = 0; lane < 32; ++lane) {
    const int begin = count / 32 * lane;
    lanes[lane] = 0.0f;
    for (int i = begin; i < begin + count / 32; i += 2) {
      const float second_square = __fmul_rn(element(i + 1), element(i + 1));
      const float pair = __fmaf_rn(element(i), element(i), second_square);
      lanes[lane] = __fadd_rn(lanes[lane], pair);
    }
  }
  return folded(lanes, 32);
}

template <typename Element>
__device__ float square_sum_fp32_rope(const Element& element) {
  float lanes[16];
  for (int lane = 0; lane < 16; ++lane) {
    lanes[lane] = 0.0f;
    for (int i = 8 * lane; i < 8 * lane + 8; ++i)
      lanes[lane] = __fadd_rn(lanes[lane], __fmul_rn(element(i), element(i)));
  }
  return folded(lanes, 16);
}

template <qkv::Recipe recipe, typename Element>
__device__ float rstd_of(const Element& element, int count, float eps) {
  float sum = 0.0f;
  if (recipe == qkv::Recipe::eager_flux2) sum = square_sum_eager_flux2(element, count);
  if (recipe == qkv::Recipe::eager_qwen) sum = square_sum_eager_qwen(element, count);
  if (recipe == qkv::Recipe::fp32_through) sum = square_sum_fp32_through(element, count);
  if (recipe == qkv::Recipe::fp32_rope) sum = square_sum_fp32_rope(element);
  const float mean = __fdiv_rn(sum, static_cast<float>(count));
  return rsqrtf(__fadd_rn(mean, eps));
}

template <qkv::Recipe recipe, typename T>
__device__ float normalized(float x, float weight, float rstd) {
  if (recipe == qkv::Recipe::fp32_through) return __fmul_rn(x, __fmul_rn(rstd, weight));
  const float y = __fmul_rn(x, rstd);
  if (recipe == qkv::Recipe::eager_qwen) {
    return rounded<T>(__fmul_rn(rounded<T>(y), weight));
  }
  return rounded<T>(__fmul_rn(weight, y));
}

struct Point {
  float x;
  float y;
};

template <qkv::Recipe recipe>
__device__ Point rotated(Point n, float cosine, float sine) {
  const float xc = __fmul_rn(n.x, cosine);
  const float xs = __fmul_rn(n.x, sine);
  const float yc = __fmul_rn(n.y, cosine);
  const float ys = __fmul_rn(n.y, sine);
  if (recipe == qkv::Recipe::eager_flux2) return {__fsub_rn(xc, ys), __fadd_rn(yc, xs)};
  if (recipe == qkv::Recipe::eager_qwen) {
    return {__fmaf_rn(n.x, cosine, -ys), __fmaf_rn(n.x, sine, yc)};
  }
  if (recipe == qkv::Recipe::fp32_through) {
    return {__fmaf_rn(n.x, cosine, -ys), __fmaf_rn(n.y, cosine, xs)};
  }
  return {__fmaf_rn(-n.y, sine, xc), __fmaf_rn(n.x, sine, yc)};
}

// No generic lambdas: NVRTC takes one for a function of the host.
struct StreamChoice {
  bool is_text;

  template <typename Value>
  __device__ inline Value operator()(Value image, Value text) const {
    return is_text ? text : image;
  }
};

struct PartChoice {
  int part;

  template <typename Value>
  __device__ inline Value operator()(Value for_q, Value for_k, Value for_v) const {
    return part == 0 ? for_q : part == 1 ? for_k : for_v;
  }
};

template <qkv::Recipe recipe,
          int head_dim,
          qkv::Rope rope,
          typename T,
          int streams,
          qkv::Order order,
          qkv::Parts parts,
          Out out,
          Reciprocal reciprocal,
          qkv::Norm norm,
          bool bias>
__global__ void qkv_epilogue(const T* q,
                             const T* k,
                             const T* v,
                             const T* q_weight,
                             const T* k_weight,
                             const float* cos,
                             const float* sin,
                             const T* q_bias,
                             const T* k_bias,
                             const T* v_bias,
                             const T* text_q,
                             const T* text_k,
                             const T* text_v,
                             const T* text_q_weight,
                             const T* text_k_weight,
                             const float* text_cos,
                             const float* text_sin,
                             const T* text_q_bias,
                             const T* text_k_bias,
                             const T* text_v_bias,
                             const float* q_input_scale,
                             const float* k_input_scale,
                             const float* v_input_scale,
                             T* out_q,
                             T* out_k,
                             T* out_v,
                             Fp8* out_q_e4m3,
                             Fp8* out_k_e4m3,
                             Fp8* out_v_e4m3,
                             Fp8* out_q_e5m2,
                             Fp8* out_k_e5m2,
                             Fp8* out_v_e5m2,
                             int batches,
                             int tokens,
                             int text_tokens,
                             int heads,
                             long long q_row_stride,
                             long long q_batch_stride,
                             long long k_row_stride,
                             long long k_batch_stride,
                             long long v_row_stride,
                             long long v_batch_stride,
                             long long text_q_row_stride,
                             long long text_q_batch_stride,
                             long long text_k_row_stride,
                             long long text_k_batch_stride,
                             long long text_v_row_stride,
                             long long text_v_batch_stride,
                             long long rope_row_stride,
                             long long out_row_stride,
                             long long out_batch_stride,
                             float eps) {
  const long long joint_tokens = static_cast<long long>(tokens) + text_tokens;
  long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int part = index % 3;
  index /= 3;
  const int head = index % heads;
  index /= heads;
  const long long position = index % joint_tokens;
  const long long batch = index / joint_tokens;
  if (batch >= batches || (parts == qkv::Parts::qk && part == 2)) return;

  bool is_text = false;
  long long token = position;
  if (streams == 2 && order == qkv::Order::text_first) {
    is_text = position < text_tokens;
    if (!is_text) token = position - text_tokens;
  }
  if (streams == 2 && order == qkv::Order::image_first) {
    is_text = position >= tokens;
    if (is_text) token = position - tokens;
  }

  const StreamChoice of_stream = {is_text};
  const PartChoice of_part = {part};
  const Outputs<T> target = {of_part(out_q, out_k, out_v),
                             of_part(out_q_e4m3, out_k_e4m3, out_v_e4m3),
                             of_part(out_q_e5m2, out_k_e5m2, out_v_e5m2),
                             of_part(q_input_scale, k_input_scale, v_input_scale)};
  const T* row = of_stream(of_part(q, k, v), of_part(text_q, text_k, text_v));
  row += batch * of_stream(of_part(q_batch_stride, k_batch_stride, v_batch_stride),
                           of_part(text_q_batch_stride, text_k_batch_stride, text_v_batch_stride));
  row += token * of_stream(of_part(q_row_stride, k_row_stride, v_row_stride),
                           of_part(text_q_row_stride, text_k_row_stride, text_v_row_stride));
  const T* row_bias =
      of_stream(of_part(q_bias, k_bias, v_bias), of_part(text_q_bias, text_k_bias, text_v_bias));
  const auto value_at = [&](int column) {
    if (!bias) return row[column];
    return round_to<T>(__fadd_rn(to_float(row[column]), to_float(row_bias[column])));
  };
  const long long out_row = batch * out_batch_stride + position * out_row_stride;
  const int first_column = head * head_dim;
  if (part == 2) {
    for (int column = first_column; column < first_column + head_dim; ++column)
      write<out, reciprocal>(value_at(column), target, out_row + column);
    return;
  }

  // What is normalized together begins at this column, the weights too.
  const bool is_all = norm == qkv::Norm::all;
  const int norm_column = is_all ? 0 : first_column;
  const T* weight =
      of_stream(part == 0 ? q_weight : k_weight, part == 0 ? text_q_weight : text_k_weight);
  const float* token_cos = of_stream(cos, text_cos) + token * rope_row_stride;
  const float* token_sin = of_stream(sin, text_sin) + token * rope_row_stride;
  const float rstd = rstd_of<recipe>([&](int i) { return to_float(value_at(norm_column + i)); },
                                     is_all ? heads * head_dim : head_dim, eps);
  const auto normalized_at = [&](int column) {
    return normalized<recipe, T>(to_float(value_at(column)), to_float(weight[column - norm_column]),
                                 rstd);
  };
  for (int pair = 0; pair < head_dim / 2; ++pair) {
    const bool is_interleaved = rope == qkv::Rope::interleaved;
    const int x = first_column + (is_interleaved ? 2 * pair : pair);
    const int y = is_interleaved ? x + 1 : x + head_dim / 2;
    const Point point =
        rotated<recipe>({normalized_at(x), normalized_at(y)}, token_cos[pair], token_sin[pair]);
    write<out, reciprocal>(round_to<T>(point.x), target, out_row + x);
    write<out, reciprocal>(round_to<T>(point.y), target, out_row + y);
  }
}

}  // namespace kiln::reference
