// Strided copies: transpose, slice, concatenation, broadcast, by the bytes of an element.
#pragma once

#include "gpu/dialect/dialect.hpp"
#include "gpu/kernels/params.hpp"

namespace tk {

enum { kCopyPerThread = 4 };

// Groups of any x size; a group copies kCopyPerThread * bdim.x elements, neighbours by neighbours.
// T is tk_u8, tk_u16, tk_u32, tk_u32x2 or tk_u32x4: bases and strides count T.
template <class T>
TK_FN void copy_nd(TK_CTX c, TK_GLOBAL const T* from, TK_GLOBAL T* to, TK_PARAM CopyParams& p,
                   TK_SHARED tk_no_shared&) {
  const int first = int(c.bid.x * (c.bdim.x * kCopyPerThread) + c.tid.x);
  TK_UNROLL for (int k = 0; k < kCopyPerThread; ++k) {
    int i = first + k * int(c.bdim.x);
    if (i < p.count) {
      int source = 0, target = 0;
      TK_UNROLL for (int axis = 0; axis < kCopyAxes; ++axis) {
        const int rest = tk_div(i, p.size[axis]);
        const int index = i - rest * int(p.size[axis].divisor);
        source += index * p.from_stride[axis];
        target += index * p.to_stride[axis];
        i = rest;
      }
      to[p.to_base + target] = from[p.from_base + source];
    }
  }
}

}  // namespace tk
