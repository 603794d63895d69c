// Resizes two neighbouring axes by tables of taps; see ResizeParams.
#pragma once

#include "gpu/dialect/dialect.hpp"
#include "gpu/kernels/params.hpp"

namespace tk {

// Where the thread's output vector lies: its plane of x, and its row and column of y.
struct tk_resize_place {
  tk_i64 plane;
  int row, column, inner;
};
TK_FN void tk_resize_find(int at, TK_LOCAL tk_resize_place& t, TK_PARAM ResizeParams& p) {
  t.inner = at;
  t.column = tk_divmod(t.inner, p.inner);
  t.row = tk_divmod(t.column, p.width);
  t.plane = tk_i64(tk_divmod(t.row, p.height)) * p.plane;
}

// The same channel of another pixel of the plane.
TK_FN int tk_pixel(int pixel, TK_LOCAL const tk_resize_place& t, TK_PARAM ResizeParams& p) {
  return pixel * int(p.inner.divisor) + t.inner;
}

// One tap an axis, of units T: nearest.
template <class T>
TK_FN void resize_nearest(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL const tk_i32* at,
                          TK_GLOBAL T* y, TK_PARAM ResizeParams& p, TK_SHARED tk_no_shared&) {
  const int to = int(c.bid.x * c.bdim.x + c.tid.x);
  if (to >= p.count) return;
  tk_resize_place t;
  tk_resize_find(to, t, p);
  y[to] = x[t.plane + tk_pixel(at[t.row] + at[p.columns_at + t.column], t, p)];
}

// An infinity that a tap of weight 0 would read is not part of the result.
TK_FN float tk_tap(float weight, float v) {
  return weight == 0.0f ? 0.0f : weight * v;
}

// Two taps an axis: linear.
template <class T, int V>
TK_FN void resize_linear(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL const tk_i32* at,
                         TK_GLOBAL const float* weights, TK_GLOBAL T* y, TK_PARAM ResizeParams& p,
                         TK_SHARED tk_no_shared&) {
  const int to = int(c.bid.x * c.bdim.x + c.tid.x);
  if (to >= p.count) return;
  tk_resize_place t;
  tk_resize_find(to, t, p);
  const int row = t.row * 2, column = p.columns_at + t.column * 2;

  const int top = at[row], low = at[row + 1], left = at[column], right = at[column + 1];
  tk_vec<V> a;
  tk_load_vec(x + (t.plane + tk_pixel(top + left, t, p)) * V, a);
  tk_vec<V> b;
  tk_load_vec(x + (t.plane + tk_pixel(top + right, t, p)) * V, b);
  tk_vec<V> d;
  tk_load_vec(x + (t.plane + tk_pixel(low + left, t, p)) * V, d);
  tk_vec<V> e;
  tk_load_vec(x + (t.plane + tk_pixel(low + right, t, p)) * V, e);
  const float wt = weights[row], wb = weights[row + 1];
  const float wl = weights[column], wr = weights[column + 1];
  tk_vec<V> r;
  TK_UNROLL for (int v = 0; v < V; ++v) {
    const float first = tk_tap(wt, a.v[v]) + tk_tap(wb, d.v[v]);
    const float second = tk_tap(wt, b.v[v]) + tk_tap(wb, e.v[v]);
    r.v[v] = tk_tap(wl, first) + tk_tap(wr, second);
  }
  tk_store_vec(y + tk_i64(to) * V, r);
}

// Any number of taps an axis: cubic, antialiased, and what may lie outside.
template <class T, int V>
TK_FN void resize_taps(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL const tk_i32* at,
                       TK_GLOBAL const float* weights, TK_GLOBAL T* y, TK_PARAM ResizeParams& p,
                       TK_SHARED tk_no_shared&) {
  const int to = int(c.bid.x * c.bdim.x + c.tid.x);
  if (to >= p.count) return;
  tk_resize_place t;
  tk_resize_find(to, t, p);
  const int row = t.row * p.row_taps, column = p.columns_at + t.column * p.column_taps;

  tk_vec<V> r;
  const bool outside = at[row] < 0 || at[column] < 0;
  tk_fill_vec(outside ? p.outside : 0.0f, r);
  for (int j = 0; j < p.column_taps && !outside; ++j) {
    const float across = weights[column + j];
    if (across == 0.0f) continue;
    tk_vec<V> sum;
    tk_fill_vec(0.0f, sum);
    for (int k = 0; k < p.row_taps; ++k) {
      const float down = weights[row + k];
      if (down == 0.0f) continue;
      tk_vec<V> one;
      tk_load_vec(x + (t.plane + tk_pixel(at[row + k] + at[column + j], t, p)) * V, one);
      TK_UNROLL for (int v = 0; v < V; ++v) sum.v[v] += down * one.v[v];
    }
    TK_UNROLL for (int v = 0; v < V; ++v) r.v[v] += across * sum.v[v];
  }
  tk_store_vec(y + tk_i64(to) * V, r);
}

}  // namespace tk
