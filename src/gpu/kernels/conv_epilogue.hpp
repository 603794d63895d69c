// The end of convolutions and matrix products: bias, residual and activation of rows of results.
#pragma once

#include "gpu/dialect/dialect.hpp"
#include "gpu/kernels/conv_params.hpp"

namespace tk {

// The first `valid` of V elements, zeros for the others; with `vectors` valid is 0 or at least V.
template <int V, class T>
TK_FN void tk_load_some(TK_GLOBAL const T* p, int valid, bool vectors, TK_LOCAL tk_vec<V>& r) {
  tk_fill_vec(0.0f, r);
  if (vectors) {
    if (valid > 0) tk_load_vec(p, r);
  } else {
    TK_UNROLL for (int i = 0; i < V; ++i) {
      if (i < valid) r.v[i] = tk_load(p + i);
    }
  }
}
template <int V, class T>
TK_FN void tk_store_some(TK_GLOBAL T* p, TK_LOCAL const tk_vec<V>& r, int valid, bool vectors) {
  if (vectors) {
    if (valid > 0) tk_store_vec(p, r);
  } else {
    TK_UNROLL for (int i = 0; i < V; ++i) {
      if (i < valid) tk_store(p + i, r.v[i]);
    }
  }
}

// Activations from kActRelu to kActHardSwish.
TK_FN float tk_act_light(TK_PARAM EpilogueParams& e, float v, float slope) {
  if (e.act <= kActClip) return tk_clip(v, e.a, e.b);
  if (e.act <= kActPRelu) return v < 0.0f ? slope * v : v;
  const float hard = tk_clip(e.a * v + e.b, 0.0f, 1.0f);
  return e.act == kActHardSwish ? v * hard : hard;
}

// exp(v) - 1, without the loss of digits near 0.
TK_FN float tk_exp_less_one(float v) {
  if (v < -20.0f) return -1.0f;
  if (tk_abs(v) > 1.0f) return tk_exp(v) - 1.0f;
  const float t = tk_tanh(0.5f * v);
  return 2.0f * t / (1.0f - t);
}

TK_FN float tk_act_heavy(int act, float a, float v) {
  if (act == kActSigmoid) return 1.0f / (1.0f + tk_exp(-v));
  if (act == kActSilu) return v / (1.0f + tk_exp(-v));
  if (act == kActElu) return v < 0.0f ? a * tk_exp_less_one(v) : v;
  if (act == kActTanh) return tk_tanh(v);
  if (a == 0.0f) return 0.5f * v * (1.0f + tk_erf(v * 0.70710678118654752f));
  return 0.5f * v * (1.0f + tk_tanh(0.79788456080286536f * (v + 0.044715f * v * v * v)));
}

// Any activation without slopes of its own.
TK_FN float tk_act(TK_PARAM EpilogueParams& e, float v) {
  return e.act <= kActHardSwish ? tk_act_light(e, v, e.a) : tk_act_heavy(e.act, e.a, v);
}

// What columns [column, column + V) add and multiply.
template <int V>
TK_FN void tk_load_columns(TK_PARAM EpilogueParams& e, TK_GLOBAL const float* bias,
                           TK_GLOBAL const float* slope, int column, int width,
                           TK_LOCAL tk_vec<V>& add, TK_LOCAL tk_vec<V>& multiply) {
  const int valid = width - column;
  tk_fill_vec(0.0f, add);
  tk_fill_vec(e.a, multiply);
  if (e.bias) tk_load_some(bias + column, valid, e.vectors != 0, add);
  if (e.act == kActPRelu) tk_load_some(slope + column, valid, e.vectors != 0, multiply);
}

// Stores V results of one row from `column` on, as far as they are below `width`. `row` counts rows
// of y and of the residual.
template <int V, bool kHeavy, class T>
TK_FN void tk_finish(TK_PARAM EpilogueParams& e, TK_LOCAL const tk_vec<V>& biases,
                     TK_LOCAL const tk_vec<V>& slopes, tk_i64 row, int column, int width,
                     TK_GLOBAL const T* residual, TK_GLOBAL T* y, TK_LOCAL tk_vec<V>& r) {
  const int valid = width - column;
  tk_vec<V> add;
  tk_fill_vec(0.0f, add);
  if (e.residual != kNoResidual) {
    tk_load_some(residual + (row * e.residual_stride + column), valid, e.vectors != 0, add);
  }
  if (e.bias) {
    TK_UNROLL for (int i = 0; i < V; ++i) r.v[i] += biases.v[i];
  }
  if (e.residual == kResidualBeforeAct) {
    TK_UNROLL for (int i = 0; i < V; ++i) r.v[i] += add.v[i];
  }
  if (kHeavy || e.act != kActNone) {
    TK_UNROLL for (int i = 0; i < V; ++i) {
      r.v[i] = kHeavy ? tk_act_heavy(e.act, e.a, r.v[i]) : tk_act_light(e, r.v[i], slopes.v[i]);
    }
  }
  if (e.residual == kResidualAfterAct) {
    TK_UNROLL for (int i = 0; i < V; ++i) r.v[i] += add.v[i];
  }
  tk_store_some(y + (row * e.y_stride + column), r, valid, e.vectors != 0);
}

// Results that a thread holds: rows of groups of V neighbouring columns.
template <int ROWS, int GROUPS, int V>
struct tk_results {
  float v[ROWS][GROUPS * V];
};
template <int ROWS, int GROUPS, int V>
TK_FN void tk_clear(TK_LOCAL tk_results<ROWS, GROUPS, V>& r) {
  TK_UNROLL for (int i = 0; i < ROWS; ++i) {
    TK_UNROLL for (int j = 0; j < GROUPS * V; ++j) r.v[i][j] = 0.0f;
  }
}

// Where results go: row i of them is row + i % RUN + i / RUN * row_gap, those below `height`; group
// j starts at column + j * column_gap.
struct tk_place {
  tk_i64 base;  // added to rows when storing
  int row, row_gap, height;
  int column, column_gap, width;
};

template <int RUN, int ROWS, int GROUPS, int V, class T>
TK_FN void tk_finish_all(TK_PARAM EpilogueParams& e, TK_LOCAL const tk_place& at,
                         TK_GLOBAL const float* bias, TK_GLOBAL const float* slope,
                         TK_GLOBAL const T* residual, TK_GLOBAL T* y,
                         TK_LOCAL const tk_results<ROWS, GROUPS, V>& results) {
  TK_UNROLL for (int g = 0; g < GROUPS; ++g) {
    const int column = at.column + g * at.column_gap;
    tk_vec<V> biases, slopes;
    tk_load_columns(e, bias, slope, column, at.width, biases, slopes);
    if (e.act <= kActHardSwish) {
      TK_UNROLL for (int i = 0; i < ROWS; ++i) {
        const int row = at.row + i % RUN + i / RUN * at.row_gap;
        tk_vec<V> r;
        TK_UNROLL for (int j = 0; j < V; ++j) r.v[j] = results.v[i][g * V + j];
        if (row < at.height) {
          tk_finish<V, false>(e, biases, slopes, at.base + row, column, at.width, residual, y, r);
        }
      }
    } else {
      // One copy of the long code.
      TK_NO_UNROLL for (int i = 0; i < ROWS; ++i) {
        const int row = at.row + i % RUN + i / RUN * at.row_gap;
        tk_vec<V> r;
        tk_fill_vec(0.0f, r);
        TK_UNROLL for (int k = 0; k < ROWS; ++k) {
          TK_UNROLL for (int j = 0; j < V; ++j) r.v[j] = k == i ? results.v[k][g * V + j] : r.v[j];
        }
        if (row < at.height) {
          tk_finish<V, true>(e, biases, slopes, at.base + row, column, at.width, residual, y, r);
        }
      }
    }
  }
}

// The plain sums of a part of K, to be added by split_sum: rows of `stride` floats.
template <int RUN, int ROWS, int GROUPS, int V>
TK_FN void tk_store_partial(TK_GLOBAL float* y, TK_LOCAL const tk_place& at, int stride,
                            bool vectors, TK_LOCAL const tk_results<ROWS, GROUPS, V>& results) {
  TK_UNROLL for (int g = 0; g < GROUPS; ++g) {
    const int column = at.column + g * at.column_gap;
    TK_UNROLL for (int i = 0; i < ROWS; ++i) {
      const int row = at.row + i % RUN + i / RUN * at.row_gap;
      tk_vec<V> r;
      TK_UNROLL for (int j = 0; j < V; ++j) r.v[j] = results.v[i][g * V + j];
      if (row < at.height) {
        tk_store_some(y + ((at.base + row) * stride + column), r, at.width - column, vectors);
      }
    }
  }
}

// Adds partial results in the order of the splits; four columns of a row a thread.
template <class T>
TK_FN void split_sum(TK_CTX c, TK_GLOBAL const float* partial, TK_GLOBAL const float* bias,
                     TK_GLOBAL const float* slope, TK_GLOBAL const T* residual, TK_GLOBAL T* y,
                     TK_PARAM SplitSumParams& p, TK_SHARED tk_no_shared&) {
  const int tid = int(c.bid.x * c.bdim.x + c.tid.x);
  if (tid >= p.threads) return;
  int column = tid;
  const int row = tk_divmod(column, p.columns);
  column *= 4;
  const bool vectors = p.N % 4 == 0;
  TK_GLOBAL const float* from = partial + (tk_i64(row) * p.N + column);
  tk_vec<4> sum;
  tk_load_some(from, p.N - column, vectors, sum);
  for (int split = 1; split < p.splits; ++split) {
    tk_vec<4> v;
    tk_load_some(from + split * p.step, p.N - column, vectors, v);
    TK_UNROLL for (int i = 0; i < 4; ++i) sum.v[i] += v.v[i];
  }
  tk_vec<4> biases, slopes;
  tk_load_columns(p.epilogue, bias, slope, column, p.N, biases, slopes);
  if (p.epilogue.act <= kActHardSwish) {
    tk_finish<4, false>(p.epilogue, biases, slopes, row, column, p.N, residual, y, sum);
  } else {
    tk_finish<4, true>(p.epilogue, biases, slopes, row, column, p.N, residual, y, sum);
  }
}

}  // namespace tk
