// Gather, GatherElements, GatherND of units T (tk_u8, tk_u16, tk_u32, tk_u32x2, tk_u32x4) by
// indices I (tk_i32, tk_i64). Negative indices count from the end; those out of range are reported,
// nothing is read for them, and zeros are written.
#pragma once

#include "gpu/dialect/dialect.hpp"
#include "gpu/kernels/params.hpp"

namespace tk {

template <class T>
struct tk_unit {
  static TK_FN void clear(TK_GLOBAL T* p) { *p = 0; }
};
template <>
struct tk_unit<tk_u32x2> {
  static TK_FN void clear(TK_GLOBAL tk_u32x2* p) { p->x = p->y = 0; }
};
template <>
struct tk_unit<tk_u32x4> {
  static TK_FN void clear(TK_GLOBAL tk_u32x4* p) { p->x = p->y = p->z = p->w = 0; }
};

// The index within [0, limit), or −1 after a report.
template <class I>
TK_FN int tk_wrap_index(I index, int limit, TK_STATUS status) {
  if (index >= I(limit) || index < -I(limit)) {
    tk_report_index(status, tk_i64(index), tk_i64(limit));
    return -1;
  }
  return int(index < 0 ? index + I(limit) : index);
}

enum { kGatherPerThread = 4 };

template <class T, class I>
TK_FN void gather(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL const I* indices, TK_GLOBAL T* y,
                  TK_STATUS status, TK_PARAM GatherParams& p, TK_SHARED tk_no_shared&) {
  const int first = int(c.bid.x * (c.bdim.x * kGatherPerThread) + c.tid.x);
  TK_UNROLL for (int k = 0; k < kGatherPerThread; ++k) {
    const int at = first + k * int(c.bdim.x);
    if (at < p.count) {
      int i = at;
      int j = tk_divmod(i, p.inner);
      const int outer = tk_divmod(j, p.many);
      const int index = tk_wrap_index(indices[j], p.size, status);
      if (index >= 0) {
        y[at] = x[(tk_i64(outer) * p.size + index) * p.inner.divisor + i];
      } else {
        tk_unit<T>::clear(y + at);
      }
    }
  }
}

template <class T, class I>
TK_FN void gather_elements(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL const I* indices,
                           TK_GLOBAL T* y, TK_STATUS status, TK_PARAM GatherElementsParams& p,
                           TK_SHARED tk_no_shared&) {
  const int at = int(c.bid.x * c.bdim.x + c.tid.x);
  if (at >= p.count) return;
  int i = at, from = 0;
  TK_UNROLL for (int axis = 0; axis < kGatherAxes; ++axis) {
    const int rest = tk_div(i, p.size[axis]);
    from += (i - rest * int(p.size[axis].divisor)) * p.stride[axis];
    i = rest;
  }
  const int index = tk_wrap_index(indices[at], p.limit, status);
  if (index >= 0) {
    y[at] = x[from + index * p.axis_stride];
  } else {
    tk_unit<T>::clear(y + at);
  }
}

template <class T, class I>
TK_FN void gather_nd(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL const I* indices, TK_GLOBAL T* y,
                     TK_STATUS status, TK_PARAM GatherNdParams& p, TK_SHARED tk_no_shared&) {
  const int at = int(c.bid.x * c.bdim.x + c.tid.x);
  if (at >= p.count) return;
  int r = at;
  const int tuple = tk_divmod(r, p.run);
  int from = tk_div(tuple, p.tuples) * p.batch_stride + r;
  bool inside = true;
  TK_GLOBAL const I* given = indices + tk_i64(tuple) * p.depth;
  TK_UNROLL for (int k = 0; k < kGatherAxes; ++k) {
    if (k < p.depth) {
      const int index = tk_wrap_index(given[k], p.limit[k], status);
      inside = inside && index >= 0;
      from += inside ? index * p.stride[k] : 0;
    }
  }
  if (inside) {
    y[at] = x[from];
  } else {
    tk_unit<T>::clear(y + at);
  }
}

}  // namespace tk
