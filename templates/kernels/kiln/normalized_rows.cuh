// SPDX-License-Identifier: Apache-2.0
#pragma once

// LayerNorm of rows, one at a time and block: where they come from, how their loads overlap with
// the work on others, and where they go. A row stays in registers from its one read to its one
// write.

#include "kiln/access.cuh"
#include "kiln/modulation.cuh"
#include "kiln/nvfp4.cuh"
#include "kiln/ptx.cuh"
#include "kiln/row_output.cuh"
#include "kiln/row_statistics.cuh"
#include "kiln/types.cuh"

namespace kiln {

// How a variant is built; each form of these hides latency and costs registers. `prefetch`: whether
// the next row is loaded while this one is written. `resident`: whether scale, shift and gate stay
// in registers from row to row; else `preload` groups of scale and shift are loaded ahead.
template <int hidden_,
          typename T_,
          Out out_,
          Recipe recipe_,
          Reciprocal reciprocal_,
          int vector_,
          int prefetch_,
          int resident_,
          int preload_>
struct Form {
  using T = T_;
  using Slice = RowSlice<hidden_, T>;
  using Modulation = kiln::Modulation<T, recipe_>;
  static constexpr int hidden = hidden_;
  static constexpr Out out = out_;
  static constexpr Recipe recipe = recipe_;
  static constexpr Reciprocal reciprocal = reciprocal_;
  static constexpr int vector = vector_;
  static constexpr bool prefetch = prefetch_ != 0;
  static constexpr bool resident = resident_ != 0;
  static constexpr int preload = resident ? Slice::kGroups : preload_;
  using Ahead = GroupsAhead<Slice, Modulation, preload, vector>;
  static constexpr bool normalizes = contains(out, kActivation | kFp8 | Out::nvfp4);
};

// What a source loads while it is at a row.
template <typename Addresses>
struct NextRow {
  bool exists;
  Addresses addresses;
};

// Where the normalized rows come from. start() loads a row; finish() gives what of it is to be
// normalized, and loads the next one. A tensor …
template <typename Form, bool has_bias>
struct PlainRows {
  using T = typename Form::T;
  using Slice = typename Form::Slice;
  struct Addresses {
    const T* x;
  };
  const T* x;
  const T* bias;
  RowStride stride;
  Slice slice;
  Slice ahead;  // the row after it, if rows are prefetched

  __device__ __forceinline__ Addresses addresses(RowIndex index) const {
    return {x + stride.offset(index)};
  }
  __device__ __forceinline__ void load_batch(unsigned) {}
  __device__ __forceinline__ void start(const Addresses& row) {
    ahead.template load<Form::vector>(row.x);
  }
  __device__ __forceinline__ const Slice& finish(RowIndex, const NextRow<Addresses>& next) {
    slice = ahead;
    if (next.exists) ahead.template load<Form::vector>(next.addresses.x);
    if constexpr (has_bias) slice.template add<Form::vector>(bias);
    return slice;
  }
};

// … or a residual and its gated update, whose sum is written, too, if asked for.
template <typename Form, bool has_bias, bool clip>
struct GatedRows {
  using T = typename Form::T;
  using Slice = typename Form::Slice;
  using Gate = typename Form::Modulation;
  struct Addresses {
    const T* residual;
    const T* update;
  };
  const T* residual;
  const T* update;
  const typename Gate::Element* gate;
  const T* bias;
  T* sum;
  RowStride residual_stride;
  RowStride update_stride;
  RowStride sum_stride;
  long long gate_stride;
  Slice residual_slice;
  Slice update_slice;
  Slice slice;
  Gate resident_gate[Form::resident ? Slice::kGroups : 1];

  __device__ __forceinline__ Gate load_gate(unsigned batch, int i) const {
    Gate loaded;
    kiln::load<Form::vector>(Slice::at(gate + batch * gate_stride, i), loaded.value);
    return loaded;
  }
  __device__ __forceinline__ Addresses addresses(RowIndex index) const {
    return {residual + residual_stride.offset(index), update + update_stride.offset(index)};
  }
  __device__ __forceinline__ void load_batch(unsigned batch) {
#pragma unroll
    for (int i = 0; i < Slice::kGroups; ++i) {
      if (Slice::has_group(i)) resident_gate[i] = load_gate(batch, i);
    }
  }
  __device__ __forceinline__ void start(const Addresses& row) {
    residual_slice.template load<Form::vector>(row.residual);
    update_slice.template load<Form::vector>(row.update);
  }
  __device__ __forceinline__ const Slice& finish(RowIndex index, const NextRow<Addresses>& next) {
    if constexpr (has_bias) update_slice.template add<Form::vector>(bias);
    T* row_sum = sum + sum_stride.offset(index);
#pragma unroll
    for (int i = 0; i < Slice::kGroups; ++i) {
      if (!Slice::has_group(i)) break;
      Gate g;
      if constexpr (Form::resident) {
        g = resident_gate[i];
      } else {
        g = load_gate(index.batch, i);
      }
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        Pair<T>& pair = slice.group[i][j];
        pair = add_gated(residual_slice.group[i][j], update_slice.group[i][j], g, j);
        if constexpr (clip) pair = limit_to_finite(pair);
      }
      if (next.exists) {
        residual_slice.template load_group<Form::vector>(next.addresses.residual, i);
        update_slice.template load_group<Form::vector>(next.addresses.update, i);
      }
      if constexpr (contains(Form::out, Out::residual)) {
        store<Form::vector>(Slice::at(row_sum, i), slice.group[i]);
      }
    }
    return slice;
  }
};

struct Nvfp4Rows {
  unsigned char* elements;
  unsigned char* scales;
  float global_scale;

  // Of the `row`-th of all rows, which begins `row_offset` elements from the start.
  template <int vector, typename T, int pairs>
  __device__ __forceinline__ void store(long long row_offset,
                                        unsigned row,
                                        int column,
                                        int hidden,
                                        const Pair<T> (&m)[pairs]) const {
    const Nvfp4<T, pairs> block = quantize_nvfp4(m, global_scale);
    kiln::store<vector>(elements + (row_offset + column) / 2, block);
    if (column % kNvfp4Block != 0) return;
    scales[nvfp4_scale_offset(row, column / kNvfp4Block, hidden)] = block.scale;
  }
};

// Normalizes, modulates and writes rows.
template <typename Form>
struct NormalizedRows {
  using T = typename Form::T;
  using Slice = typename Form::Slice;
  using Modulation = typename Form::Modulation;
  using Element = typename Modulation::Element;

  const Element* scale;
  const Element* shift;
  long long scale_stride;
  long long shift_stride;
  float eps;
  RowOutput<T> output;
  Nvfp4Rows nvfp4;
  typename Form::Ahead scale_ahead;
  typename Form::Ahead shift_ahead;

  // With resident modulation once for all rows of a batch, else for every row.
  __device__ __forceinline__ void load_modulation(unsigned batch) {
    scale_ahead.start(scale + batch * scale_stride);
    shift_ahead.start(shift + batch * shift_stride);
    if constexpr (Form::resident) {
#pragma unroll
      for (int i = 0; i < Slice::kGroups; ++i)
        scale_ahead.ahead[i] = factor_of(scale_ahead.ahead[i]);
    }
  }

  __device__ __forceinline__ void write(const Slice& slice,
                                        RowIndex index,
                                        unsigned row,
                                        Moments (&shared)[kRowWarps]) {
    if constexpr (!Form::resident) load_modulation(index.batch);
    const Moments moments = row_moments(slice, shared);
    const float rstd = reciprocal_deviation(moments, Form::hidden, eps);
    const auto normalize = [&](float x) { return __fmul_rn(rstd, __fsub_rn(x, moments.mean)); };

    const long long row_offset = output.stride.offset(index);
#pragma unroll
    for (int i = 0; i < Slice::kGroups; ++i) {
      if (!Slice::has_group(i)) break;
      Modulation factor = scale_ahead.next(i);
      if constexpr (!Form::resident) factor = factor_of(factor);
      const Modulation shift = shift_ahead.next(i);
      Pair<T> m[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const Pair<T> x = slice.group[i][j];
        m[j] = modulate(normalize(first(x)), normalize(second(x)), factor, shift, j);
      }
      output.template store<Form::out, Form::reciprocal, Form::vector>(row_offset + Slice::begin(),
                                                                       Slice::offset(i), m);
      if constexpr (contains(Form::out, Out::nvfp4)) {
        nvfp4.template store<Form::vector>(row_offset, row, Slice::begin() + Slice::offset(i),
                                           Form::hidden, m);
      }
    }
  }
};

template <typename Form, typename Source>
__device__ __forceinline__ void for_each_row(Source& source,
                                             NormalizedRows<Form>& normalized,
                                             unsigned rows_per_batch,
                                             unsigned rows) {
  __shared__ Moments shared[2][kRowWarps];
  const auto addresses = [&](unsigned row) {
    return source.addresses(row_index(row, rows_per_batch));
  };
  if (Form::prefetch && blockIdx.x < rows) source.start(addresses(blockIdx.x));
  unsigned resident_batch = ~0u;
  int parity = 0;
  for (unsigned row = blockIdx.x; row < rows; row += gridDim.x) {
    const bool is_last = row + gridDim.x >= rows;
    if (is_last) let_next_kernel_start();
    const RowIndex index = row_index(row, rows_per_batch);
    NextRow<typename Source::Addresses> next = {Form::prefetch && !is_last, {}};
    if (next.exists) next.addresses = addresses(row + gridDim.x);
    if constexpr (!Form::prefetch) source.start(source.addresses(index));
    if (Form::resident && index.batch != resident_batch) {
      resident_batch = index.batch;
      source.load_batch(resident_batch);
      if constexpr (Form::normalizes) normalized.load_modulation(resident_batch);
    }
    const auto& slice = source.finish(index, next);
    if constexpr (Form::normalizes) {
      normalized.write(slice, index, row, shared[parity]);
      parity ^= 1;
    }
  }
  if constexpr (contains(Form::out, Out::nvfp4)) {
    pad_nvfp4_scales(normalized.nvfp4.scales, rows, Form::hidden);
  }
}

}  // namespace kiln
