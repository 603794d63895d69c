// What the kernels along an axis share: which columns a thread works on, and states that are
// combined over a warp or a group in a fixed order.
#pragma once

#include "gpu/dialect/dialect.hpp"
#include "gpu/kernels/params.hpp"

namespace tk {

// A thread's part of the work; see SplitParams.
struct tk_part {
  int column;         // the first of V neighbours; beyond p.columns for threads without work
  int slice, slices;  // it takes positions first + slice, + slices, …
  int slot, stride;   // its place in shared memory; the next slice's place is `stride` on
  int first, end;     // positions of this group
  int outer, inner;   // of the column
  tk_i64 base;        // the element at position 0
};

// V neighbouring columns are counted as one.
template <int V>
TK_FN void tk_find_part(TK_CTX c, TK_PARAM SplitParams& p, TK_LOCAL tk_part& t) {
  const int flat = int(c.tid.x);
  const int columns_log = kGroupLog - p.slices_log;
  const int column = p.along ? flat >> p.slices_log : flat & ((1 << columns_log) - 1);
  t.slice = p.along ? flat & ((1 << p.slices_log) - 1) : flat >> columns_log;
  t.slices = 1 << p.slices_log;
  t.stride = 1 << columns_log;
  t.slot = t.slice * t.stride + column;
  t.column = int(c.bid.x) * t.stride + column;
  t.first = int(c.bid.y) * p.chunk;
  t.end = t.column < p.columns ? tk_imin(t.first + p.chunk, p.n) : t.first;
  t.inner = t.column;
  t.outer = tk_divmod(t.inner, p.width);
  t.inner *= V;
  t.base = tk_i64(t.outer) * p.n * p.inner + t.inner;
}

// Sums of A over the slices of a column, for every thread of it. All threads of the group call it.
struct tk_group_floats {
  float v[kGroup];
};
TK_FN float tk_sum_slices(TK_CTX c, TK_LOCAL const tk_part& t, float v, TK_SHARED float* s) {
  TK_BARRIER(c);
  s[t.slot] = v;
  for (int reach = t.slices >> 1; reach > 0; reach >>= 1) {
    TK_BARRIER(c);
    if (t.slice < reach) s[t.slot] += s[t.slot + reach * t.stride];
  }
  TK_BARRIER(c);
  return s[t.slot & (t.stride - 1)];
}

// Sum over all threads of a group of up to 32 warps; `s` holds 32 floats.
TK_FN float tk_sum_group(TK_CTX c, float v, TK_SHARED float* s) {
  const float total = tk_warp_sum(c, v);
  TK_BARRIER(c);
  if (c.lane == 0) s[c.warp] = total;
  TK_BARRIER(c);
  const float part = c.lane < (c.bdim.x >> 5) ? s[c.lane] : 0.0f;
  return tk_warp_sum(c, part);
}

// The state of Σ exp(v): the largest v, and the sum of exp(v − largest). NaN and +inf stay.
TK_FN void tk_exp_sum_start(TK_LOCAL float& top, TK_LOCAL float& sum) {
  top = -tk_inf();
  sum = 0.0f;
}
TK_FN void tk_exp_sum_merge(TK_LOCAL float& top, TK_LOCAL float& sum, float top2, float sum2) {
  const float m = tk_max(top, top2);
  const float a = top == -tk_inf() ? 0.0f : sum * tk_exp(top - m);
  const float b = top2 == -tk_inf() ? 0.0f : sum2 * tk_exp(top2 - m);
  sum = a + b;
  top = m;
}
TK_FN void tk_exp_sum_add(TK_LOCAL float& top, TK_LOCAL float& sum, float v) {
  if (v <= top) {
    sum += v == -tk_inf() ? 0.0f : tk_exp(v - top);
  } else {
    const float rest = top == -tk_inf() ? 0.0f : sum * tk_exp(top - v);
    sum = rest + 1.0f;
    top = tk_max(top, v);
  }
}
TK_FN void tk_exp_sum_warp(TK_CTX c, TK_LOCAL float& top, TK_LOCAL float& sum) {
  TK_UNROLL for (int step = 16; step > 0; step >>= 1) {
    const float top2 = tk_warp_xor(c, top, step), sum2 = tk_warp_xor(c, sum, step);
    tk_exp_sum_merge(top, sum, top2, sum2);
  }
}

}  // namespace tk
