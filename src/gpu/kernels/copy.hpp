// Strided copies: transpose, slice, concatenation, broadcast, by the bytes of an element. T is
// tk_u8, tk_u16, tk_u32, tk_u32x2 or tk_u32x4.
#pragma once

#include "gpu/dialect/dialect.hpp"
#include "gpu/kernels/copy_params.hpp"

namespace tk {

// Groups of any x size; a group copies kCopyPerThread * bdim.x elements, neighbours by neighbours.
template <class T>
TK_FN void copy_nd(TK_CTX c, TK_GLOBAL const T* from, TK_GLOBAL T* to, TK_PARAM CopyParams& p,
                   TK_SHARED tk_no_shared&) {
  const tk_u32 first = c.bid.x * (c.bdim.x * kCopyPerThread) + c.tid.x;
  TK_UNROLL for (tk_u32 k = 0; k < kCopyPerThread; ++k) {
    int i = int(first + k * c.bdim.x);
    if (tk_u32(i) < tk_u32(p.count)) {
      int source = 0, target = 0;
      TK_UNROLL for (int axis = 0; axis < kCopyAxes; ++axis) {
        if (axis < p.rank) {
          const int rest = tk_div(i, p.size[axis]);
          const int index = i - rest * int(p.size[axis].divisor);
          source += index * p.from_stride[axis];
          target += index * p.to_stride[axis];
          i = rest;
        }
      }
      to[p.to_base + target] = from[p.from_base + source];
    }
  }
}

template <class T>
struct tk_copy_tile {
  T v[kTile][kTile + 1];
};

// A group of 32 x 8 threads (as 256 in a row) turns a tile of 32 x 32; groups along x only.
template <class T>
TK_FN void copy_transpose(TK_CTX c, TK_GLOBAL const T* from, TK_GLOBAL T* to,
                          TK_PARAM TransposeParams& p, TK_SHARED tk_copy_tile<T>& s) {
  int rest = int(c.bid.x);
  const int row_rest = tk_divmod(rest, p.row_tiles);
  const int j0 = rest * kTile;
  rest = row_rest;
  const int column_rest = tk_divmod(rest, p.column_tiles);
  const int k0 = rest * kTile;
  rest = column_rest;
  tk_i64 source = p.from_base, target = p.to_base;
  TK_UNROLL for (int axis = 0; axis < kCopyAxes - 2; ++axis) {
    const int next = tk_divmod(rest, p.size[axis]);
    source += tk_i64(rest) * p.from_stride[axis];
    target += tk_i64(rest) * p.to_stride[axis];
    rest = next;
  }
  const int lane = int(c.tid.x) % kTile, row = int(c.tid.x) / kTile;
  TK_UNROLL for (int r = 0; r < kTile; r += kTileRows) {
    const int j = j0 + lane, k = k0 + row + r;
    if (j < p.rows && k < p.columns)
      s.v[row + r][lane] = from[source + tk_i64(k) * p.from_rows + j];
  }
  TK_BARRIER(c);
  TK_UNROLL for (int r = 0; r < kTile; r += kTileRows) {
    const int j = j0 + row + r, k = k0 + lane;
    if (j < p.rows && k < p.columns) to[target + tk_i64(j) * p.to_rows + k] = s.v[lane][row + r];
  }
}

TK_FN void tk_fill_value(TK_PARAM FillParams& p, TK_GLOBAL tk_u8* to) {
  *to = tk_u8(p.value[0]);
}
TK_FN void tk_fill_value(TK_PARAM FillParams& p, TK_GLOBAL tk_u16* to) {
  *to = tk_u16(p.value[0]);
}
TK_FN void tk_fill_value(TK_PARAM FillParams& p, TK_GLOBAL tk_u32* to) {
  *to = p.value[0];
}
TK_FN void tk_fill_value(TK_PARAM FillParams& p, TK_GLOBAL tk_u32x2* to) {
  tk_u32x2 v;
  v.x = p.value[0];
  v.y = p.value[1];
  *to = v;
}
TK_FN void tk_fill_value(TK_PARAM FillParams& p, TK_GLOBAL tk_u32x4* to) {
  tk_u32x4 v;
  v.x = p.value[0];
  v.y = p.value[1];
  v.z = p.value[2];
  v.w = p.value[3];
  *to = v;
}

template <class T>
TK_FN void fill(TK_CTX c, TK_GLOBAL T* to, TK_PARAM FillParams& p, TK_SHARED tk_no_shared&) {
  const tk_i64 i = tk_i64(c.bid.x) * c.bdim.x + c.tid.x;
  if (i < p.count) tk_fill_value(p, to + i);
}

}  // namespace tk
