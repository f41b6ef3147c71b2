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
// the next row is loaded before this one is folded. `resident`: whether scale, shift and gate stay
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
  static constexpr int preload = resident || preload_ > Slice::kGroups ? Slice::kGroups : preload_;
  static constexpr bool normalizes = contains(out, kActivation | kFp8 | Out::nvfp4);
};

// Where the normalized rows come from: a tensor …
template <typename Form, bool has_bias>
struct PlainRows {
  using T = typename Form::T;
  using Slice = typename Form::Slice;
  struct Loads {
    Slice x;
  };
  const T* x;
  const T* bias;
  RowStride stride;

  __device__ __forceinline__ void load_batch(unsigned) {}
  __device__ __forceinline__ void load(RowIndex index, Loads& loads) const {
    loads.x.template load<Form::vector>(x + stride.offset(index));
  }
  __device__ __forceinline__ Slice finish(RowIndex, Loads& loads) const {
    if constexpr (has_bias) loads.x.template add<Form::vector>(bias);
    return loads.x;
  }
};

// … or a residual and its gated update, whose sum is written, too, if asked for.
template <typename Form, bool has_bias, bool clip>
struct GatedRows {
  using T = typename Form::T;
  using Slice = typename Form::Slice;
  using Gate = typename Form::Modulation;
  struct Loads {
    Slice residual;
    Slice update;
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
  Gate resident_gate[Form::resident ? Slice::kGroups : 1];

  __device__ __forceinline__ Gate load_gate(unsigned batch, int i) const {
    Gate loaded;
    kiln::load<Form::vector>(gate + batch * gate_stride + Slice::first_element(i), loaded.value);
    return loaded;
  }
  __device__ __forceinline__ void load_batch(unsigned batch) {
#pragma unroll
    for (int i = 0; i < Slice::kGroups; ++i) {
      if (Slice::has_group(i)) resident_gate[i] = load_gate(batch, i);
    }
  }
  __device__ __forceinline__ void load(RowIndex index, Loads& loads) const {
    loads.residual.template load<Form::vector>(residual + residual_stride.offset(index));
    loads.update.template load<Form::vector>(update + update_stride.offset(index));
  }
  __device__ __forceinline__ Slice finish(RowIndex index, Loads& loads) const {
    if constexpr (has_bias) loads.update.template add<Form::vector>(bias);
    T* row_sum = sum + sum_stride.offset(index);
    Slice slice;
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
        slice.group[i][j] = add_gated(loads.residual.group[i][j], loads.update.group[i][j], g, j);
        if constexpr (clip) slice.group[i][j] = limit_to_finite(slice.group[i][j]);
      }
      if constexpr (contains(Form::out, Out::residual)) {
        store<Form::vector>(row_sum + Slice::first_element(i), slice.group[i]);
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
  template <int vector, typename T>
  __device__ __forceinline__ void store(long long row_offset,
                                        unsigned row,
                                        int column,
                                        int hidden,
                                        const Pair<T> (&m)[2]) const {
    const Nvfp4<T, 2> block = quantize_nvfp4(m, global_scale);
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
  // Of `preload` neighbouring groups: those in use, and those after them.
  struct Ahead {
    Modulation factor[Form::preload];
    Modulation shift[Form::preload];
  } modulation, next_modulation;

  __device__ __forceinline__ void load(unsigned batch, int begin, Ahead& ahead) const {
    const Element* row_scale = scale + batch * scale_stride;
    const Element* row_shift = shift + batch * shift_stride;
#pragma unroll
    for (int i = 0; i < Form::preload; ++i) {
      if (begin + i >= Slice::kGroups || !Slice::has_group(begin + i)) break;
      const int column = Slice::first_element(begin + i);
      Modulation loaded;
      kiln::load<Form::vector>(row_scale + column, loaded.value);
      ahead.factor[i] = factor_of(loaded);
      kiln::load<Form::vector>(row_shift + column, ahead.shift[i].value);
    }
  }
  __device__ __forceinline__ void load_batch(unsigned batch) {
    load(batch, 0, modulation);
  }

  __device__ __forceinline__ void write(const Slice& slice,
                                        RowIndex index,
                                        unsigned row,
                                        Moments (&shared)[kRowWarps]) {
    if constexpr (!Form::resident) load(index.batch, 0, next_modulation);
    const Moments moments = row_moments(slice, shared);
    const float rstd = reciprocal_deviation(moments, Form::hidden, eps);
    const auto normalize = [&](float x) { return __fmul_rn(rstd, __fsub_rn(x, moments.mean)); };

    const long long row_offset = output.stride.offset(index);
#pragma unroll
    for (int i = 0; i < Slice::kGroups; ++i) {
      if (!Slice::has_group(i)) break;
      const int ahead = i % Form::preload;
      if (!Form::resident && ahead == 0) {
        modulation = next_modulation;
        load(index.batch, i + Form::preload, next_modulation);
      }
      Pair<T> m[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const Pair<T> x = slice.group[i][j];
        m[j] = modulate(normalize(first(x)), normalize(second(x)), modulation.factor[ahead],
                        modulation.shift[ahead], j);
      }
      const int column = Slice::first_element(i);
      output.template store<Form::out, Form::reciprocal, Form::vector>(row_offset, column, m);
      if constexpr (contains(Form::out, Out::nvfp4)) {
        nvfp4.template store<Form::vector>(row_offset, row, column, Form::hidden, m);
      }
    }
  }
};

template <typename Form, typename Source, typename Normalized>
__device__ __forceinline__ void for_each_row(Source& source,
                                             Normalized& normalized,
                                             unsigned rows_per_batch,
                                             unsigned rows) {
  __shared__ Moments shared[2][kRowWarps];
  typename Source::Loads loads;
  typename Source::Loads next_loads;
  if constexpr (Form::prefetch) {
    if (blockIdx.x < rows) source.load(RowIndex(blockIdx.x, rows_per_batch), next_loads);
  }
  unsigned resident_batch = ~0u;
  int parity = 0;
  for (unsigned row = blockIdx.x; row < rows; row += gridDim.x) {
    const bool is_last = row + gridDim.x >= rows;
    if (is_last) let_next_kernel_start();
    const RowIndex index(row, rows_per_batch);
    if constexpr (Form::prefetch) {
      loads = next_loads;
      if (!is_last) source.load(RowIndex(row + gridDim.x, rows_per_batch), next_loads);
    } else {
      source.load(index, loads);
    }
    if (Form::resident && index.batch != resident_batch) {
      resident_batch = index.batch;
      source.load_batch(resident_batch);
      if constexpr (Form::normalizes) normalized.load_batch(resident_batch);
    }
    const auto slice = source.finish(index, loads);
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
