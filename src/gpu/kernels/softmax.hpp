// Softmax and its logarithm over n of [outer, n, inner].
#pragma once

#include "gpu/kernels/rows.hpp"

namespace tk {

// Of an element v of a row whose largest is `top` and Σ exp(v − top) is `sum`; `sum` becomes what
// tk_softmax_value needs. A largest of ±inf makes NaN, as inf − inf does.
TK_FN void tk_softmax_prepare(float top, TK_LOCAL float& sum, TK_PARAM SoftmaxParams& p) {
  if (tk_abs(top) == tk_inf()) sum = tk_nan();
  if (p.log) sum = tk_log(sum);
}
TK_FN float tk_softmax_value(float v, float top, float sum, TK_PARAM SoftmaxParams& p) {
  return p.log ? v - top - sum : tk_exp(v - top) / sum;
}

// inner == 1 and n <= 32 · K: a warp a row, 8 rows a group; each lane keeps K elements.
template <class T, int K, int V>
TK_FN void softmax_warp(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL T* y, TK_PARAM SoftmaxParams& p,
                        TK_SHARED tk_no_shared&) {
  const int row = int(c.bid.x) * (kGroup / 32) + int(c.warp);
  const int n = row < p.split.columns ? p.split.n : 0;
  const tk_i64 base = tk_i64(row) * p.split.n;
  tk_vec<V> r[K / V];
  float top = -tk_inf(), sum = 0.0f;
  TK_UNROLL for (int k = 0; k < K / V; ++k) {
    const int i = (k * 32 + int(c.lane)) * V;
    if (i < n) {
      tk_load_vec(x + base + i, r[k]);
    } else {
      tk_fill_vec(-tk_inf(), r[k]);
    }
    TK_UNROLL for (int v = 0; v < V; ++v) top = tk_max(top, r[k].v[v]);
  }
  top = tk_warp_max(c, top);
  TK_UNROLL for (int k = 0; k < K / V; ++k) {
    const int i = (k * 32 + int(c.lane)) * V;
    if (i < n) {
      TK_UNROLL for (int v = 0; v < V; ++v) {
        const float e = tk_exp(r[k].v[v] - top);
        sum += e;
        if (!p.log) r[k].v[v] = e;
      }
    }
  }
  sum = tk_warp_sum(c, sum);
  tk_softmax_prepare(top, sum, p);
  TK_UNROLL for (int k = 0; k < K / V; ++k) {
    const int i = (k * 32 + int(c.lane)) * V;
    if (i < n) {
      TK_UNROLL for (int v = 0; v < V; ++v) {
        r[k].v[v] = p.log ? r[k].v[v] - top - sum : r[k].v[v] / sum;
      }
      tk_store_vec(y + base + i, r[k]);
    }
  }
}

struct tk_softmax_group {
  float top[32], sum[32];
};

// inner == 1: a group of up to 32 warps a row.
template <class T, int V>
TK_FN void softmax_group(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL T* y, TK_PARAM SoftmaxParams& p,
                         TK_SHARED tk_softmax_group& s) {
  const int n = p.split.n;
  const tk_i64 base = tk_i64(c.bid.x) * n;
  const int first = int(c.tid.x) * V, step = int(c.bdim.x) * V;
  float top, sum;
  tk_exp_sum_start(top, sum);
  for (int i = first; i < n; i += step) {
    tk_vec<V> r;
    tk_load_vec(x + base + i, r);
    float largest = r.v[0];
    TK_UNROLL for (int v = 1; v < V; ++v) largest = tk_max(largest, r.v[v]);
    if (!(largest <= top)) {
      sum = top == -tk_inf() ? 0.0f : sum * tk_exp(top - largest);
      top = tk_max(top, largest);
    }
    if (top != -tk_inf()) {
      TK_UNROLL for (int v = 0; v < V; ++v) sum += tk_exp(r.v[v] - top);
    }
  }
  tk_exp_sum_warp(c, top, sum);
  if (c.lane == 0) {
    s.top[c.warp] = top;
    s.sum[c.warp] = sum;
  }
  TK_BARRIER(c);
  tk_exp_sum_start(top, sum);
  if (c.lane < (c.bdim.x >> 5)) {
    top = s.top[c.lane];
    sum = s.sum[c.lane];
  }
  tk_exp_sum_warp(c, top, sum);
  tk_softmax_prepare(top, sum, p);
  for (int i = first; i < n; i += step) {
    tk_vec<V> r;
    tk_load_vec(x + base + i, r);
    TK_UNROLL for (int v = 0; v < V; ++v) r.v[v] = tk_softmax_value(r.v[v], top, sum, p);
    tk_store_vec(y + base + i, r);
  }
}

struct tk_softmax_columns {
  float top[kGroup], sum[kGroup];
};

template <class T>
TK_FN void softmax_columns(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL T* y,
                           TK_PARAM SoftmaxParams& p, TK_SHARED tk_softmax_columns& s) {
  tk_part t;
  tk_find_part<1>(c, p.split, t);
  float top, sum;
  tk_exp_sum_start(top, sum);
  for (int i = t.slice; i < t.end; i += t.slices) {
    tk_exp_sum_add(top, sum, tk_load(x + t.base + i * p.split.inner));
  }
  s.top[t.slot] = top;
  s.sum[t.slot] = sum;
  for (int reach = t.slices >> 1; reach > 0; reach >>= 1) {
    TK_BARRIER(c);
    if (t.slice < reach) {
      const int other = t.slot + reach * t.stride;
      tk_exp_sum_merge(top, sum, s.top[other], s.sum[other]);
      s.top[t.slot] = top;
      s.sum[t.slot] = sum;
    }
  }
  TK_BARRIER(c);
  top = s.top[t.slot & (t.stride - 1)];
  sum = s.sum[t.slot & (t.stride - 1)];
  tk_softmax_prepare(top, sum, p);
  for (int i = t.slice; i < t.end; i += t.slices) {
    const tk_i64 at = t.base + i * p.split.inner;
    tk_store(y + at, tk_softmax_value(tk_load(x + at), top, sum, p));
  }
}

}  // namespace tk
