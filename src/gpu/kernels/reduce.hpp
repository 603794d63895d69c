// Reductions of [outer, n, inner] over n, in one pass or, where there are few results, in two: then
// the first pass makes a partial result a segment, [outer, segments, inner] floats. Sums of values,
// magnitudes or squares; extremes; products; log Σ exp. What a fold leaves as a partial result can
// be folded again.
#pragma once

#include "gpu/kernels/rows.hpp"

namespace tk {

enum { kFoldSum, kFoldMax, kFoldProd, kFoldLogSumExp };

// a, b: the state of a fold. Only kFoldLogSumExp needs b.
template <int F>
struct tk_fold;
template <>
struct tk_fold<kFoldSum> {
  static TK_FN void start(TK_LOCAL float& a, TK_LOCAL float& b) { a = b = 0.0f; }
  static TK_FN void add(TK_LOCAL float& a, TK_LOCAL float&, float v, TK_PARAM ReduceParams& p) {
    a += p.take == kTakeSquare ? v * v : p.take == kTakeMagnitude ? tk_abs(v) : v;
  }
  static TK_FN void merge(TK_LOCAL float& a, TK_LOCAL float&, float a2, float) { a += a2; }
  static TK_FN void warp(TK_CTX c, TK_LOCAL float& a, TK_LOCAL float&) { a = tk_warp_sum(c, a); }
  static TK_FN float finish(float a, float, TK_PARAM ReduceParams&) { return a; }
};
template <>
struct tk_fold<kFoldMax> {
  static TK_FN void start(TK_LOCAL float& a, TK_LOCAL float& b) {
    a = -tk_inf();
    b = 0.0f;
  }
  static TK_FN void add(TK_LOCAL float& a, TK_LOCAL float&, float v, TK_PARAM ReduceParams& p) {
    a = tk_max(a, tk_float(tk_bits(v) ^ p.flip));
  }
  static TK_FN void merge(TK_LOCAL float& a, TK_LOCAL float&, float a2, float) {
    a = tk_max(a, a2);
  }
  static TK_FN void warp(TK_CTX c, TK_LOCAL float& a, TK_LOCAL float&) { a = tk_warp_max(c, a); }
  static TK_FN float finish(float a, float, TK_PARAM ReduceParams& p) {
    return tk_float(tk_bits(a) ^ p.flip);
  }
};
template <>
struct tk_fold<kFoldProd> {
  static TK_FN void start(TK_LOCAL float& a, TK_LOCAL float& b) {
    a = 1.0f;
    b = 0.0f;
  }
  static TK_FN void add(TK_LOCAL float& a, TK_LOCAL float&, float v, TK_PARAM ReduceParams&) {
    a *= v;
  }
  static TK_FN void merge(TK_LOCAL float& a, TK_LOCAL float&, float a2, float) { a *= a2; }
  static TK_FN void warp(TK_CTX c, TK_LOCAL float& a, TK_LOCAL float&) {
    TK_UNROLL for (int step = 16; step > 0; step >>= 1) a *= tk_warp_xor(c, a, step);
  }
  static TK_FN float finish(float a, float, TK_PARAM ReduceParams&) { return a; }
};
template <>
struct tk_fold<kFoldLogSumExp> {
  static TK_FN void start(TK_LOCAL float& a, TK_LOCAL float& b) { tk_exp_sum_start(a, b); }
  static TK_FN void add(TK_LOCAL float& a, TK_LOCAL float& b, float v, TK_PARAM ReduceParams&) {
    tk_exp_sum_add(a, b, v);
  }
  static TK_FN void merge(TK_LOCAL float& a, TK_LOCAL float& b, float a2, float b2) {
    tk_exp_sum_merge(a, b, a2, b2);
  }
  static TK_FN void warp(TK_CTX c, TK_LOCAL float& a, TK_LOCAL float& b) {
    tk_exp_sum_warp(c, a, b);
  }
  static TK_FN float finish(float a, float b, TK_PARAM ReduceParams&) {
    return tk_abs(a) == tk_inf() ? a : a + tk_log(b);
  }
};

template <class T, int V>
struct tk_row_input {
  static TK_FN void load(TK_GLOBAL const T* p, TK_LOCAL tk_vec<V>& r) { tk_load_vec(p, r); }
};
template <>
struct tk_row_input<tk_u8, 1> {
  static TK_FN void load(TK_GLOBAL const tk_u8* p, TK_LOCAL tk_vec<1>& r) {
    r.v[0] = *p != 0 ? 1.0f : 0.0f;
  }
};

TK_FN void tk_reduce_store(TK_GLOBAL float* y, tk_i64 at, float v, TK_PARAM ReduceParams& p) {
  if (p.after == kAfterMean) v = v / p.count;
  if (p.after == kAfterSqrt) v = tk_sqrt(v);
  if (p.after == kAfterLog) v = tk_log(v);
  if (p.out == kOutFloat) y[at] = v;
  if (p.out == kOutHalf) tk_store((TK_GLOBAL tk_half*)y + at, v);
  if (p.out == kOutByte) ((TK_GLOBAL tk_u8*)y)[at] = v > 0.0f ? 1 : 0;
}

struct tk_warp_states {
  float a[8], b[8];
};

// inner == 1: 8 / warps rows a group of 256 threads, p.warps warps a row.
template <int F, class T, int V>
TK_FN void reduce_rows(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL float* y, TK_PARAM ReduceParams& p,
                       TK_SHARED tk_warp_states& s) {
  const int warp = int(c.warp), member = warp & (p.warps - 1);
  const int row = int(c.bid.x) * (8 / p.warps) + warp / p.warps;
  const int first = int(c.bid.y) * p.split.chunk;
  const int end = row < p.split.columns ? tk_imin(first + p.split.chunk, p.split.n) : first;
  TK_GLOBAL const T* from = x + tk_i64(row) * p.split.n;
  const int step = p.warps * 32 * V;
  float a[4], b[4];
  TK_UNROLL for (int k = 0; k < 4; ++k) tk_fold<F>::start(a[k], b[k]);
  for (int i = first + (member * 32 + int(c.lane)) * V; i < end; i += 4 * step) {
    tk_vec<V> r[4];
    TK_UNROLL for (int k = 0; k < 4; ++k) {
      if (i + k * step < end) tk_row_input<T, V>::load(from + i + k * step, r[k]);
    }
    TK_UNROLL for (int k = 0; k < 4; ++k) {
      if (i + k * step < end) {
        TK_UNROLL for (int v = 0; v < V; ++v) {
          const int into = V == 1 ? k : v & 3;
          tk_fold<F>::add(a[into], b[into], r[k].v[v], p);
        }
      }
    }
  }
  tk_fold<F>::merge(a[0], b[0], a[2], b[2]);
  tk_fold<F>::merge(a[1], b[1], a[3], b[3]);
  tk_fold<F>::merge(a[0], b[0], a[1], b[1]);
  tk_fold<F>::warp(c, a[0], b[0]);
  if (p.warps > 1) {
    if (c.lane == 0) {
      s.a[warp] = a[0];
      if (F == kFoldLogSumExp) s.b[warp] = b[0];
    }
    TK_BARRIER(c);
    if (member == 0 && c.lane == 0) {
      for (int w = 1; w < p.warps; ++w) {
        const float b2 = F == kFoldLogSumExp ? s.b[warp + w] : 0.0f;
        tk_fold<F>::merge(a[0], b[0], s.a[warp + w], b2);
      }
    }
  }
  if (member == 0 && c.lane == 0 && row < p.split.columns) {
    tk_reduce_store(y, tk_i64(row) * c.gdim.y + c.bid.y, tk_fold<F>::finish(a[0], b[0], p), p);
  }
}

template <int V>
struct tk_column_states {
  float a[V][kGroup], b[V][kGroup];
};

// V neighbouring columns a thread.
template <int F, class T, int V>
TK_FN void reduce_columns(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL float* y,
                          TK_PARAM ReduceParams& p, TK_SHARED tk_column_states<V>& s) {
  tk_part t;
  tk_find_part<V>(c, p.split, t);
  TK_GLOBAL const T* from = x + t.base;
  float a[V], b[V];
  TK_UNROLL for (int v = 0; v < V; ++v) tk_fold<F>::start(a[v], b[v]);
  enum { kAhead = V == 1 ? 8 : 4 };  // loads in flight
  for (int i = t.first + t.slice; i < t.end; i += kAhead * t.slices) {
    tk_vec<V> r[kAhead];
    TK_UNROLL for (int k = 0; k < kAhead; ++k) {
      const int at = i + k * t.slices;
      if (at < t.end) tk_row_input<T, V>::load(from + at * p.split.inner, r[k]);
    }
    TK_UNROLL for (int k = 0; k < kAhead; ++k) {
      if (i + k * t.slices < t.end) {
        TK_UNROLL for (int v = 0; v < V; ++v) tk_fold<F>::add(a[v], b[v], r[k].v[v], p);
      }
    }
  }
  for (int reach = t.slices >> 1; reach > 0; reach >>= 1) {
    if (t.slice >= reach && t.slice < 2 * reach) {
      TK_UNROLL for (int v = 0; v < V; ++v) {
        s.a[v][t.slot] = a[v];
        if (F == kFoldLogSumExp) s.b[v][t.slot] = b[v];
      }
    }
    TK_BARRIER(c);
    if (t.slice < reach) {
      const int other = t.slot + reach * t.stride;
      TK_UNROLL for (int v = 0; v < V; ++v) {
        const float b2 = F == kFoldLogSumExp ? s.b[v][other] : 0.0f;
        tk_fold<F>::merge(a[v], b[v], s.a[v][other], b2);
      }
    }
  }
  if (t.slice == 0 && t.column < p.split.columns) {
    const tk_i64 at = (tk_i64(t.outer) * c.gdim.y + c.bid.y) * p.split.inner + t.inner;
    TK_UNROLL for (int v = 0; v < V; ++v) {
      tk_reduce_store(y, at + v, tk_fold<F>::finish(a[v], b[v], p), p);
    }
  }
}

struct tk_arg_states {
  float value[kGroup];
  tk_i32 index[kGroup];
};

// True when candidate (v, i) is to be taken instead of (best, at): NaN is better than any number,
// of equals the first, or with `last` the last, is taken.
TK_FN bool tk_arg_better(float v, int i, float best, int at, int last) {
  const bool same = v == best || (v != v && best != best);
  if (same) return last ? i > at : i < at;
  return v != v || v > best;
}

// The index of the largest element of each column; n > 0.
template <class T>
TK_FN void arg_reduce(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL tk_i64* y,
                      TK_PARAM ArgReduceParams& p, TK_SHARED tk_arg_states& s) {
  tk_part t;
  tk_find_part<1>(c, p.split, t);
  TK_GLOBAL const T* from = x + t.base;
  float best = -tk_inf();
  int at = -1;
  for (int i = t.slice; i < t.end; i += t.slices) {
    const float v = tk_float(tk_bits(tk_load(from + i * p.split.inner)) ^ p.flip);
    if (at < 0 || tk_arg_better(v, i, best, at, p.last)) {
      best = v;
      at = i;
    }
  }
  s.value[t.slot] = best;
  s.index[t.slot] = at;
  for (int reach = t.slices >> 1; reach > 0; reach >>= 1) {
    TK_BARRIER(c);
    if (t.slice < reach) {
      const int other = t.slot + reach * t.stride;
      const float v = s.value[other];
      const int i = s.index[other];
      if (i >= 0 && (at < 0 || tk_arg_better(v, i, best, at, p.last))) {
        best = v;
        at = i;
        s.value[t.slot] = best;
        s.index[t.slot] = at;
      }
    }
  }
  if (t.slice == 0 && t.column < p.split.columns) {
    y[tk_i64(t.outer) * p.split.inner + t.inner] = at;
  }
}

}  // namespace tk
