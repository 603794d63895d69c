// (x − mean) / sqrt(variance + epsilon) over n of [outer, n, inner], or without `center`
// x / sqrt(mean(x²) + epsilon). Deviations are taken from a first mean, and corrected by their own
// mean, which a float keeps where it lost digits of the first (Chan, Golub and LeVeque, "Algorithms
// for Computing the Sample Variance", 1983, the corrected two-pass algorithm).
#pragma once

#include "gpu/kernels/rows.hpp"

namespace tk {

TK_FN float tk_norm_scale(float squares, TK_PARAM NormParams& p) {
  return 1.0f / tk_sqrt(squares / p.count + p.epsilon);
}

// inner == 1 and n <= 32 · K: a warp a row, 8 rows a group; each lane keeps K elements.
template <class T, int K, int V>
TK_FN void norm_warp(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL T* y, TK_PARAM NormParams& p,
                     TK_SHARED tk_no_shared&) {
  const int row = int(c.bid.x) * (kGroup / 32) + int(c.warp);
  const int n = row < p.split.columns ? p.split.n : 0;
  const tk_i64 base = tk_i64(row) * p.split.n;
  tk_vec<V> r[K / V];
  float mean = 0.0f;
  TK_UNROLL for (int k = 0; k < K / V; ++k) {
    const int i = (k * 32 + int(c.lane)) * V;
    if (i < n) {
      tk_load_vec(x + base + i, r[k]);
    } else {
      tk_fill_vec(0.0f, r[k]);
    }
    TK_UNROLL for (int v = 0; v < V; ++v) mean += r[k].v[v];
  }
  mean = p.center ? tk_warp_sum(c, mean) / p.count : 0.0f;
  float squares = 0.0f, rest = 0.0f;
  TK_UNROLL for (int k = 0; k < K / V; ++k) {
    const int i = (k * 32 + int(c.lane)) * V;
    if (i < n) {
      TK_UNROLL for (int v = 0; v < V; ++v) {
        r[k].v[v] -= mean;
        squares += r[k].v[v] * r[k].v[v];
        rest += r[k].v[v];
      }
    }
  }
  squares = tk_warp_sum(c, squares);
  rest = p.center ? tk_warp_sum(c, rest) : 0.0f;
  const float shift = rest / p.count;
  const float scale = tk_norm_scale(squares - rest * shift, p);
  TK_UNROLL for (int k = 0; k < K / V; ++k) {
    const int i = (k * 32 + int(c.lane)) * V;
    if (i < n) {
      TK_UNROLL for (int v = 0; v < V; ++v) r[k].v[v] = (r[k].v[v] - shift) * scale;
      tk_store_vec(y + base + i, r[k]);
    }
  }
}

struct tk_norm_group {
  float v[32];
};

// inner == 1: a group of up to 32 warps a row.
template <class T, int V>
TK_FN void norm_group(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL T* y, TK_PARAM NormParams& p,
                      TK_SHARED tk_norm_group& s) {
  const int n = p.split.n;
  const tk_i64 base = tk_i64(c.bid.x) * n;
  const int first = int(c.tid.x) * V, step = int(c.bdim.x) * V;
  float mean = 0.0f;
  if (p.center) {
    for (int i = first; i < n; i += step) {
      tk_vec<V> r;
      tk_load_vec(x + base + i, r);
      TK_UNROLL for (int v = 0; v < V; ++v) mean += r.v[v];
    }
    mean = tk_sum_group(c, mean, s.v) / p.count;
  }
  float squares = 0.0f, rest = 0.0f;
  for (int i = first; i < n; i += step) {
    tk_vec<V> r;
    tk_load_vec(x + base + i, r);
    TK_UNROLL for (int v = 0; v < V; ++v) {
      const float d = r.v[v] - mean;
      squares += d * d;
      rest += d;
    }
  }
  squares = tk_sum_group(c, squares, s.v);
  rest = p.center ? tk_sum_group(c, rest, s.v) : 0.0f;
  const float shift = rest / p.count;
  const float scale = tk_norm_scale(squares - rest * shift, p);
  for (int i = first; i < n; i += step) {
    tk_vec<V> r;
    tk_load_vec(x + base + i, r);
    TK_UNROLL for (int v = 0; v < V; ++v) r.v[v] = (r.v[v] - mean - shift) * scale;
    tk_store_vec(y + base + i, r);
  }
}

// Of this thread's column over the group's positions: the mean as the sum of two floats, and
// Σ (x − mean)².
struct tk_moments {
  float mean, shift, squares;
};
template <class T>
TK_FN void tk_find_moments(TK_CTX c, TK_GLOBAL const T* x, TK_LOCAL const tk_part& t, float count,
                           TK_PARAM NormParams& p, TK_SHARED tk_group_floats& s,
                           TK_LOCAL tk_moments& m) {
  float sum = 0.0f;
  m.mean = 0.0f;
  if (p.center) {
    for (int i = t.first + t.slice; i < t.end; i += t.slices) {
      sum += tk_load(x + t.base + i * p.split.inner);
    }
    m.mean = tk_sum_slices(c, t, sum, s.v) / count;
  }
  float squares = 0.0f, rest = 0.0f;
  for (int i = t.first + t.slice; i < t.end; i += t.slices) {
    const float d = tk_load(x + t.base + i * p.split.inner) - m.mean;
    squares += d * d;
    rest += d;
  }
  squares = tk_sum_slices(c, t, squares, s.v);
  rest = p.center ? tk_sum_slices(c, t, rest, s.v) : 0.0f;
  m.shift = rest / count;
  m.squares = squares - rest * m.shift;
}

template <class T>
TK_FN void norm_columns(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL T* y, TK_PARAM NormParams& p,
                        TK_SHARED tk_group_floats& s) {
  tk_part t;
  tk_find_part<1>(c, p.split, t);
  tk_moments m;
  tk_find_moments(c, x, t, p.count, p, s, m);
  const float scale = tk_norm_scale(m.squares, p);
  for (int i = t.slice; i < t.end; i += t.slices) {
    const tk_i64 at = t.base + i * p.split.inner;
    tk_store(y + at, (tk_load(x + at) - m.mean - m.shift) * scale);
  }
}

// Few columns of many positions, in three steps. First the moments of each segment of a column:
// moments[2 · (column · segments + segment)] is its mean, the next one Σ (x − mean)².
template <class T>
TK_FN void norm_partial(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL float* moments,
                        TK_PARAM NormParams& p, TK_SHARED tk_group_floats& s) {
  tk_part t;
  tk_find_part<1>(c, p.split, t);
  tk_moments m;
  tk_find_moments(c, x, t, float(tk_imax(t.end - t.first, 1)), p, s, m);
  if (t.slice == 0 && t.column < p.split.columns) {
    const tk_i64 at = (tk_i64(t.column) * p.segments + c.bid.y) * 2;
    moments[at] = m.mean + m.shift;
    moments[at + 1] = m.squares;
  }
}

// Then those of each column: stats[2 · column] is the mean, the next one what to multiply by. A
// thread a column; T is float. The merge is that of Chan, Golub and LeVeque (1979).
template <class T>
TK_FN void norm_merge(TK_CTX c, TK_GLOBAL const T* moments, TK_GLOBAL T* stats,
                      TK_PARAM NormParams& p, TK_SHARED tk_no_shared&) {
  const int column = int(c.bid.x * c.bdim.x + c.tid.x);
  if (column >= p.split.columns) return;
  TK_GLOBAL const T* from = moments + tk_i64(column) * p.segments * 2;
  float count = 0.0f, mean = 0.0f, squares = 0.0f;
  for (int k = 0; k < p.segments; ++k) {
    const float more = float(tk_imin(p.split.chunk, p.split.n - k * p.split.chunk));
    const float all = count + more, d = from[2 * k] - mean;
    squares += from[2 * k + 1] + d * d * (count * more / all);
    mean += d * (more / all);
    count = all;
  }
  stats[tk_i64(column) * 2] = mean;
  stats[tk_i64(column) * 2 + 1] = tk_norm_scale(squares, p);
}

// Then V elements a thread: neighbours along `inner`, or along n for inner == 1. split.width
// divides by the vectors an outer index; split.columns counts vectors.
template <class T, int V>
TK_FN void norm_apply(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL const float* stats, TK_GLOBAL T* y,
                      TK_PARAM NormParams& p, TK_SHARED tk_no_shared&) {
  const int vector = int(c.bid.x * c.bdim.x + c.tid.x);
  if (vector >= p.split.columns) return;
  int rest = vector;
  const int row = tk_divmod(rest, p.split.width);
  const tk_i64 at = tk_i64(vector) * V;
  tk_vec<V> r;
  tk_load_vec(x + at, r);
  if (p.split.inner == 1) {
    const float mean = stats[2 * tk_i64(row)], scale = stats[2 * tk_i64(row) + 1];
    TK_UNROLL for (int v = 0; v < V; ++v) r.v[v] = (r.v[v] - mean) * scale;
  } else {
    const tk_i64 column = tk_i64(row / p.split.n) * p.split.inner + rest * V;
    TK_UNROLL for (int v = 0; v < V; ++v) {
      r.v[v] = (r.v[v] - stats[2 * (column + v)]) * stats[2 * (column + v) + 1];
    }
  }
  tk_store_vec(y + at, r);
}

}  // namespace tk
