// SPDX-License-Identifier: Apache-2.0

// What stands between the merged projection of a transformer block and its attention, for one or
// two streams of tokens: RMSNorm of queries and keys, rotary position embedding, optional FP8
// quantization, and writing into joint tensors [batches, all tokens, heads, head_dim]. Values are
// copied, or quantized alone. With b() for rounding to the activation type:
//   x' = b(x + bias)   n = x' * rstd * weight   out = b(rotate(n))   q = fp8(out / input_scale)
// A recipe says where n is rounded and in which order (kiln/rms_norm.cuh, kiln/rope.cuh).
// One token at a time and block; blocks loop over tokens, neighbouring lanes share a head.

#include "kiln/access.cuh"
#include "kiln/ptx.cuh"
#include "kiln/qkv_types.cuh"
#include "kiln/quantize.cuh"
#include "kiln/rms_norm.cuh"
#include "kiln/rope.cuh"
#include "kiln/types.cuh"

namespace kiln {
namespace qkv {

// Queries, keys or values of one token.
template <typename T>
struct Input {
  const T* row;
  const T* weight;
  const T* bias;
  float rstd;  // over all heads, if they are normalized together
};

// No generic lambda: NVRTC takes one for a function of the host.
struct StreamChoice {
  bool is_text;

  template <typename Value>
  __device__ __forceinline__ Value operator()(Value image, Value text) const {
    return is_text ? text : image;
  }
};

template <typename T>
struct Output {
  T* activation;
  Fp8* e4m3;
  Fp8* e5m2;
  float inverse;
};

template <int head_dim, typename T>
__device__ __forceinline__ void add_bias(HeadSlice<T, head_dim>& x,
                                         const HeadSlice<T, head_dim>& bias) {
#pragma unroll
  for (int c = 0; c < HeadLanes<head_dim>::kChunks; ++c) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      x.chunk[c][i] = add(x.chunk[c][i], bias.chunk[c][i]);
  }
}

// `token_rstd` serves where all heads are normalized together.
template <Recipe recipe, Rope rope, Norm norm, int head_dim, typename T>
__device__ __forceinline__ void normalize_and_rotate(HeadSlice<T, head_dim>& x,
                                                     const HeadSlice<T, head_dim>& weight,
                                                     const Angles<rope, head_dim>& angles,
                                                     float token_rstd,
                                                     float eps) {
  constexpr int chunks = HeadLanes<head_dim>::kChunks;
  HeadValues<head_dim> values;
  float rstd = token_rstd;
  if constexpr (norm == Norm::head) {
#pragma unroll
    for (int c = 0; c < chunks; ++c) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        values[c][2 * i] = first(x.chunk[c][i]);
        values[c][2 * i + 1] = second(x.chunk[c][i]);
      }
    }
    rstd = head_rstd<recipe, head_dim>(values, eps);
  }
#pragma unroll
  for (int c = 0; c < chunks; ++c) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      normalize<recipe>(x.chunk[c][i], weight.chunk[c][i], rstd, values[c] + 2 * i);
  }
  angles.template rotate_head<recipe>(values);
#pragma unroll
  for (int c = 0; c < chunks; ++c) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      x.chunk[c][i] = round_to<T>(values[c][2 * i], values[c][2 * i + 1]);
  }
}

// `head`: elements before the head.
template <Out out, Reciprocal reciprocal, int vector, int head_dim, typename T>
__device__ __forceinline__ void write(const HeadSlice<T, head_dim>& x,
                                      const Output<T>& output,
                                      long long head) {
#pragma unroll
  for (int c = 0; c < HeadLanes<head_dim>::kChunks; ++c) {
    // A multiple of `vector` already. CUDA 13.0 splits a wide store for targets up to sm_90 where
    // it cannot see that.
    const long long element = (head + x.first_element(c)) & -vector;
    if constexpr (contains(out, kActivation))
      store<vector>(output.activation + element, x.chunk[c]);
    Fp8Pair quantized[4];
    if constexpr (contains(out, Out::e4m3)) {
      quantize<Out::e4m3, reciprocal>(x.chunk[c], output.inverse, quantized);
      store<vector>(output.e4m3 + element, quantized);
    }
    if constexpr (contains(out, Out::e5m2)) {
      quantize<Out::e5m2, reciprocal>(x.chunk[c], output.inverse, quantized);
      store<vector>(output.e5m2 + element, quantized);
    }
  }
}

}  // namespace qkv

// `heads_ahead`: heads of a lane whose loads are issued together; hides latency, costs registers.
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
          bool bias,
          int vector,
          int threads,
          int min_blocks,
          int heads_ahead>
__global__ void __launch_bounds__(threads, min_blocks) qkv_epilogue(const T* q,
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
  using Slice = qkv::HeadSlice<T, head_dim>;
  constexpr bool is_all = norm == qkv::Norm::all;
  static_assert(!is_all || (recipe == qkv::Recipe::eager_flux2 && threads == qkv::kTokenThreads));
  constexpr int part_count = parts == qkv::Parts::qkv ? 3 : 2;
  constexpr int lanes = qkv::HeadLanes<head_dim>::kCount;
  constexpr int heads_per_warp = 32 / lanes;
  constexpr int heads_per_block = threads / lanes;
  constexpr int rope_vector = vector == 1 ? 1 : vector / 2;
  __shared__ float shared[2][qkv::kTokenWarps];

  wait_for_earlier_kernels();
  qkv::Output<T> outputs[3] = {{out_q, out_q_e4m3, out_q_e5m2, 0.0f},
                               {out_k, out_k_e4m3, out_k_e5m2, 0.0f},
                               {out_v, out_v_e4m3, out_v_e5m2, 0.0f}};
  if constexpr (contains(out, kFp8)) {
    outputs[0].inverse = inverse_of<reciprocal>(*q_input_scale);
    outputs[1].inverse = inverse_of<reciprocal>(*k_input_scale);
    if constexpr (part_count == 3) outputs[2].inverse = inverse_of<reciprocal>(*v_input_scale);
  }

  const unsigned joint_tokens = streams == 2 ? tokens + text_tokens : tokens;
  const unsigned rows = batches * joint_tokens;
  for (unsigned row = blockIdx.x; row < rows; row += gridDim.x) {
    if (row + gridDim.x >= rows) let_next_kernel_start();
    const RowIndex joint = row_index(row, joint_tokens);
    RowIndex token = joint;
    bool is_text = false;
    if constexpr (streams == 2) {
      const unsigned first_count = order == qkv::Order::text_first ? text_tokens : tokens;
      const bool is_first = joint.row < first_count;
      is_text = is_first == (order == qkv::Order::text_first);
      if (!is_first) token.row -= first_count;
    }
    // That of the token's stream.
    const qkv::StreamChoice choose = {is_text};
    const RowStride q_stride = {choose(q_row_stride, text_q_row_stride),
                                choose(q_batch_stride, text_q_batch_stride)};
    const RowStride k_stride = {choose(k_row_stride, text_k_row_stride),
                                choose(k_batch_stride, text_k_batch_stride)};
    const RowStride v_stride = {choose(v_row_stride, text_v_row_stride),
                                choose(v_batch_stride, text_v_batch_stride)};
    qkv::Input<T> inputs[3] = {
        {choose(q, text_q) + q_stride.offset(token), choose(q_weight, text_q_weight),
         choose(q_bias, text_q_bias), 0.0f},
        {choose(k, text_k) + k_stride.offset(token), choose(k_weight, text_k_weight),
         choose(k_bias, text_k_bias), 0.0f},
        {choose(v, text_v) + v_stride.offset(token), nullptr, choose(v_bias, text_v_bias), 0.0f}};

    qkv::Angles<rope, head_dim> angles;
    angles.template load<rope_vector>(choose(cos, text_cos) + token.row * rope_row_stride,
                                      choose(sin, text_sin) + token.row * rope_row_stride);
    Slice weights[2];
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      if constexpr (norm == qkv::Norm::head) {
        weights[part].template load<vector>(inputs[part].weight);
      } else {
        inputs[part].rstd = qkv::token_rstd<bias, vector>(inputs[part].row, inputs[part].bias,
                                                          heads * head_dim, eps, shared[part]);
      }
    }

    const long long out_row = RowStride{out_row_stride, out_batch_stride}.offset(joint);
    // All lanes of a warp stay for the shuffles; those beyond the last head repeat it.
    const int warp_head = static_cast<int>(threadIdx.x) / 32 * heads_per_warp;
    const int lane_head = static_cast<int>(threadIdx.x) % 32 / lanes;
    for (int begin = warp_head; begin < heads; begin += heads_per_block * heads_ahead) {
      Slice x[heads_ahead][part_count];
      long long element[heads_ahead];
      bool has_head[heads_ahead];
#pragma unroll
      for (int i = 0; i < heads_ahead; ++i) {
        const int head = begin + i * heads_per_block + lane_head;
        has_head[i] = head < heads;
        element[i] = static_cast<long long>(has_head[i] ? head : heads - 1) * head_dim;
#pragma unroll
        for (int part = 0; part < part_count; ++part)
          x[i][part].template load<vector>(inputs[part].row + element[i]);
      }
#pragma unroll
      for (int i = 0; i < heads_ahead; ++i) {
#pragma unroll
        for (int part = 0; part < part_count; ++part) {
          if constexpr (bias) {
            Slice head_bias;
            head_bias.template load<vector>(inputs[part].bias + element[i]);
            qkv::add_bias(x[i][part], head_bias);
          }
          if (part < 2) {
            if constexpr (is_all)
              weights[part].template load<vector>(inputs[part].weight + element[i]);
            qkv::normalize_and_rotate<recipe, rope, norm>(x[i][part], weights[part], angles,
                                                          inputs[part].rstd, eps);
          }
        }
        if (has_head[i]) {
#pragma unroll
          for (int part = 0; part < part_count; ++part)
            qkv::write<out, reciprocal, vector>(x[i][part], outputs[part], out_row + element[i]);
        }
      }
    }
  }
}

}  // namespace kiln
