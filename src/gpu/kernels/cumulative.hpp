// Cumulative sums and products over n of [outer, n, inner]. `reverse` counts positions from the
// end; `exclusive` leaves an element out of its own result.
#pragma once

#include "gpu/kernels/rows.hpp"

namespace tk {

TK_FN float tk_combine(float a, float b, TK_PARAM CumulativeParams& p) {
  return p.product ? a * b : a + b;
}

struct tk_scan {
  float v[kGroup / 32];
};
enum { kScanEach = 4 };

// inner == 1: a group of 256 threads a row, kScanEach neighbours a thread in each round.
template <class T>
TK_FN void cumulative_rows(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL T* y,
                           TK_PARAM CumulativeParams& p, TK_SHARED tk_scan& s) {
  const tk_i64 base = tk_i64(c.bid.x) * p.n;
  const float none = p.product ? 1.0f : 0.0f;
  float carry = none;
  for (int start = 0; start < p.n; start += 256 * kScanEach) {
    const int first = start + int(c.tid.x) * kScanEach;
    float v[kScanEach], total = none;
    TK_UNROLL for (int k = 0; k < kScanEach; ++k) {
      const int i = first + k;
      v[k] = i < p.n ? tk_load(x + base + (p.reverse ? p.n - 1 - i : i)) : none;
      total = tk_combine(total, v[k], p);
    }
    float before = total;  // of the lanes up to this one, then of those below it
    TK_UNROLL for (int step = 1; step < 32; step <<= 1) {
      const float other = tk_warp_get(c, before, (int(c.lane) - step) & 31);
      if (int(c.lane) >= step) before = tk_combine(other, before, p);
    }
    TK_BARRIER(c);
    if (c.lane == 31) s.v[c.warp] = before;
    TK_BARRIER(c);
    const float below = tk_warp_get(c, before, (int(c.lane) - 1) & 31);
    before = carry;
    TK_UNROLL for (int w = 0; w < kGroup / 32; ++w) {
      if (w < int(c.warp)) before = tk_combine(before, s.v[w], p);
      carry = tk_combine(carry, s.v[w], p);
    }
    if (c.lane > 0) before = tk_combine(before, below, p);
    TK_UNROLL for (int k = 0; k < kScanEach; ++k) {
      const int i = first + k;
      const float next = tk_combine(before, v[k], p);
      if (i < p.n) tk_store(y + base + (p.reverse ? p.n - 1 - i : i), p.exclusive ? before : next);
      before = next;
    }
  }
}

// A thread a column.
template <class T>
TK_FN void cumulative_columns(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL T* y,
                              TK_PARAM CumulativeParams& p, TK_SHARED tk_no_shared&) {
  const int column = int(c.bid.x * c.bdim.x + c.tid.x);
  if (column >= p.columns) return;
  int inner = column;
  const int outer = tk_divmod(inner, p.width);
  const tk_i64 step = p.reverse ? -tk_i64(p.inner) : tk_i64(p.inner);
  tk_i64 at = tk_i64(outer) * p.n * p.inner + inner;
  if (p.reverse) at += tk_i64(p.n - 1) * p.inner;
  float total = p.product ? 1.0f : 0.0f;
  for (int i = 0; i < p.n; ++i) {
    const float next = tk_combine(total, tk_load(x + at), p);
    tk_store(y + at, p.exclusive ? total : next);
    total = next;
    at += step;
  }
}

}  // namespace tk
