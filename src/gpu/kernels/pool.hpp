// Maximum, sum and average pooling over up to three axes. Strides make one kernel serve both
// layouts: neighbouring threads are neighbouring channels where these are last, else neighbouring
// columns.
#pragma once

#include "gpu/dialect/dialect.hpp"
#include "gpu/kernels/pool_params.hpp"

namespace tk {

struct tk_pool_place {
  int channel, width, height, depth, image;  // width: the first of the thread's
};

// BLOCK outputs along the width a thread.
template <int V, int BLOCK>
TK_FN void tk_pool_locate(TK_PARAM PoolParams& p, int i, TK_LOCAL tk_pool_place& at) {
  int rest = tk_divmod(i, p.columns);
  at.channel = i * V;
  i = rest;
  rest = tk_divmod(i, p.blocks);
  at.width = i * BLOCK;
  i = rest;
  rest = tk_divmod(i, p.height);
  at.height = i;
  i = rest;
  rest = tk_divmod(i, p.depth);
  at.depth = i;
  at.image = rest;
}

// The first k with start + k·dilation >= 0, and the end of those with start + k·dilation < end.
TK_FN int tk_pool_first(int start, TK_PARAM tk_divisor& dilation) {
  return start >= 0 ? 0 : tk_div(int(dilation.divisor) - 1 - start, dilation);
}
TK_FN int tk_pool_end(int start, TK_PARAM tk_divisor& dilation, int window, int end) {
  const int room = tk_imax(end - start, 0);
  return tk_imin(window, tk_div(room + int(dilation.divisor) - 1, dilation));
}

// Cells of a window along an axis that count for an average. The first may lie before the input;
// padding ends at `padded`, beyond which ceil_mode's windows may reach.
TK_FN int tk_pool_count(TK_PARAM PoolParams& p, int axis, int start) {
  if (p.divide == kPoolPadded)
    return tk_pool_end(start, p.dilation[axis], p.window[axis], p.padded[axis]);
  return tk_imax(0, tk_pool_end(start, p.dilation[axis], p.window[axis], p.in[axis]) -
                        tk_pool_first(start, p.dilation[axis]));
}

template <bool MAX>
TK_FN float tk_pool_combine(float sum, float v) {
  return MAX ? tk_max(sum, v) : sum + v;
}

// Tap k at column w, which each output of the thread takes whose window has it.
template <class T, int V, int BLOCK, bool MAX>
TK_FN void tk_pool_tap(TK_PARAM PoolParams& p, TK_GLOBAL const T* row, int w, int k, int window,
                       TK_LOCAL tk_vec<V> (&sum)[BLOCK]) {
  if (tk_u32(w) >= tk_u32(p.in[2])) return;
  tk_vec<V> v;
  tk_load_vec(row + w * p.from_stride[2], v);
  TK_UNROLL for (int b = 0; b < BLOCK; ++b) {
    if (BLOCK == 1 || tk_u32(k - b * p.stride[2]) < tk_u32(window)) {
      TK_UNROLL for (int e = 0; e < V; ++e) {
        sum[b].v[e] = tk_pool_combine<MAX>(sum[b].v[e], v.v[e]);
      }
    }
  }
}

// V channels and BLOCK outputs along the width a thread. With BLOCK > 1 the dilation along the
// width is 1 and the stride below the kernel's width.
template <class T, int V, int BLOCK, bool MAX>
TK_FN void pool(TK_CTX c, TK_GLOBAL const T* from, TK_GLOBAL T* to, TK_PARAM PoolParams& p,
                TK_SHARED tk_no_shared&) {
  const tk_u32 first = c.bid.x * c.bdim.x + c.tid.x;
  if (first >= tk_u32(p.count)) return;
  tk_pool_place at;
  tk_pool_locate<V, BLOCK>(p, int(first), at);
  const int d0 = at.depth * p.stride[0] - p.before[0];
  const int h0 = at.height * p.stride[1] - p.before[1];
  const int w0 = at.width * p.stride[2] - p.before[2];
  const int window = p.window[2], step = p.stride[2];
  const int taps = window + (BLOCK - 1) * step;
  const int apart = BLOCK > 1 ? 1 : int(p.dilation[2].divisor);
  const int i1 = tk_pool_end(d0, p.dilation[0], p.window[0], p.in[0]);
  const int j0 = tk_pool_first(h0, p.dilation[1]);
  const int j1 = tk_pool_end(h0, p.dilation[1], p.window[1], p.in[1]);
  TK_GLOBAL const T* x = from + (at.image * p.from_image + at.channel);
  tk_vec<V> sum[BLOCK];
  TK_UNROLL for (int b = 0; b < BLOCK; ++b) tk_fill_vec(MAX ? -tk_inf() : 0.0f, sum[b]);
  TK_NO_UNROLL for (int i = tk_pool_first(d0, p.dilation[0]); i < i1; ++i) {
    const int d = d0 + i * int(p.dilation[0].divisor);
    TK_NO_UNROLL for (int j = j0; j < j1; ++j) {
      const int h = h0 + j * int(p.dilation[1].divisor);
      TK_GLOBAL const T* row = x + (d * p.from_stride[0] + h * p.from_stride[1]);
      TK_NO_UNROLL for (int k = 0; k < taps; ++k) {
        tk_pool_tap<T, V, BLOCK, MAX>(p, row, w0 + k * apart, k, window, sum);
      }
    }
  }
  TK_GLOBAL T* y = to + (at.image * p.to_image + at.channel + at.depth * p.to_stride[0] +
                         at.height * p.to_stride[1]);
  const int rows = MAX ? 1 : tk_pool_count(p, 0, d0) * tk_pool_count(p, 1, h0);
  TK_UNROLL for (int b = 0; b < BLOCK; ++b) {
    if (at.width + b < p.width) {
      if (!MAX && p.divide != kPoolSum) {
        const float count = float(rows * tk_pool_count(p, 2, w0 + b * step));
        TK_UNROLL for (int e = 0; e < V; ++e) {
          sum[b].v[e] = count > 0.0f ? sum[b].v[e] / count : 0.0f;
        }
      }
      tk_store_vec(y + (at.width + b) * p.to_stride[2], sum[b]);
    }
  }
}

// Cells of a window of k at `start` that count, without dilation.
TK_FN int tk_pool_square_count(TK_PARAM PoolParams& p, int axis, int start, int k) {
  if (p.divide == kPoolPadded) return tk_imin(k, p.padded[axis] - start);
  return tk_imax(0, tk_imin(start + k, p.in[axis]) - tk_imax(start, 0));
}

// Row j of the windows of a thread from `x` on.
template <class T, int V, int COLUMNS, bool MAX>
TK_FN void tk_pool_row(TK_GLOBAL const T* x, TK_PARAM PoolParams& p, int left, bool inside,
                       TK_LOCAL tk_vec<V>* cells) {
  TK_UNROLL for (int k = 0; k < COLUMNS; ++k) {
    tk_fill_vec(MAX ? -tk_inf() : 0.0f, cells[k]);
    if (inside && tk_u32(left + k) < tk_u32(p.in[2])) {
      tk_load_vec(x + k * p.from_stride[2], cells[k]);
    }
  }
}

// Windows of K x K, stride S, without dilation, channels last: V channels and OWN neighbouring
// outputs of a row a thread. Each cell is read once, AHEAD rows before the first of them is used,
// and combined along the height first.
template <class T, int V, int K, int S, int OWN, int AHEAD, bool MAX>
TK_FN void pool_square(TK_CTX c, TK_GLOBAL const T* from, TK_GLOBAL T* to, TK_PARAM PoolParams& p,
                       TK_SHARED tk_no_shared&) {
  enum { kColumns = (OWN - 1) * S + K };
  const tk_u32 first = c.bid.x * c.bdim.x + c.tid.x;
  if (first >= tk_u32(p.count)) return;
  tk_pool_place at;
  tk_pool_locate<V, OWN>(p, int(first), at);
  const int h0 = at.height * S - p.before[1], w0 = at.width * S - p.before[2];
  TK_GLOBAL const T* x = from + (at.image * p.from_image + tk_i64(h0) * p.from_stride[1] +
                                 tk_i64(w0) * p.from_stride[2] + at.channel);
  tk_vec<V> columns[kColumns];
  TK_UNROLL for (int k = 0; k < kColumns; ++k) tk_fill_vec(MAX ? -tk_inf() : 0.0f, columns[k]);
  TK_UNROLL for (int j = 0; j < K; j += AHEAD) {
    tk_vec<V> cells[AHEAD][kColumns];
    TK_UNROLL for (int a = 0; a < AHEAD; ++a) {
      const bool inside = j + a < K && tk_u32(h0 + j + a) < tk_u32(p.in[1]);
      tk_pool_row<T, V, kColumns, MAX>(x + (j + a) * p.from_stride[1], p, w0, inside, cells[a]);
    }
    TK_UNROLL for (int a = 0; a < AHEAD; ++a) {
      TK_UNROLL for (int k = 0; k < kColumns; ++k) {
        TK_UNROLL for (int e = 0; e < V; ++e) {
          columns[k].v[e] = tk_pool_combine<MAX>(columns[k].v[e], cells[a][k].v[e]);
        }
      }
    }
  }
  TK_GLOBAL T* y = to + (at.image * p.to_image + at.channel + at.height * p.to_stride[1]);
  const int rows = MAX ? 1 : tk_pool_square_count(p, 1, h0, K);
  TK_UNROLL for (int b = 0; b < OWN; ++b) {
    tk_vec<V> sum = columns[b * S];
    TK_UNROLL for (int k = 1; k < K; ++k) {
      TK_UNROLL for (int e = 0; e < V; ++e) {
        sum.v[e] = tk_pool_combine<MAX>(sum.v[e], columns[b * S + k].v[e]);
      }
    }
    if (!MAX && p.divide != kPoolSum) {
      const float count = float(rows * tk_pool_square_count(p, 2, w0 + b * S, K));
      // What is rounded to 16 bits needs no division.
      const float scale = count > 0.0f ? 1.0f / count : 0.0f;
      TK_UNROLL for (int e = 0; e < V; ++e) {
        if (sizeof(T) == 2) {
          sum.v[e] *= scale;
        } else {
          sum.v[e] = count > 0.0f ? sum.v[e] / count : 0.0f;
        }
      }
    }
    if (at.width + b < p.width) tk_store_vec(y + (at.width + b) * p.to_stride[2], sum);
  }
}

// The maximum and where it is: the first of equals, the first NaN; -1 for a window in the padding.
template <class T>
TK_FN void pool_argmax(TK_CTX c, TK_GLOBAL const T* from, TK_GLOBAL T* to, TK_GLOBAL tk_i64* index,
                       TK_PARAM PoolParams& p, TK_SHARED tk_no_shared&) {
  const tk_u32 first = c.bid.x * c.bdim.x + c.tid.x;
  if (first >= tk_u32(p.count)) return;
  tk_pool_place at;
  tk_pool_locate<1, 1>(p, int(first), at);
  TK_GLOBAL const T* x = from + (at.image * p.from_image + at.channel);
  const int d0 = at.depth * p.stride[0] - p.before[0];
  const int h0 = at.height * p.stride[1] - p.before[1];
  const int w0 = at.width * p.stride[2] - p.before[2];
  const int i1 = tk_pool_end(d0, p.dilation[0], p.window[0], p.in[0]);
  const int j1 = tk_pool_end(h0, p.dilation[1], p.window[1], p.in[1]);
  const int k1 = tk_pool_end(w0, p.dilation[2], p.window[2], p.in[2]);
  float best = -tk_inf();
  int best_at = -1;
  TK_NO_UNROLL for (int i = tk_pool_first(d0, p.dilation[0]); i < i1; ++i) {
    const int d = d0 + i * int(p.dilation[0].divisor);
    TK_NO_UNROLL for (int j = tk_pool_first(h0, p.dilation[1]); j < j1; ++j) {
      const int h = h0 + j * int(p.dilation[1].divisor);
      TK_NO_UNROLL for (int k = tk_pool_first(w0, p.dilation[2]); k < k1; ++k) {
        const int w = w0 + k * int(p.dilation[2].divisor);
        const float v =
            tk_load(x + (d * p.from_stride[0] + h * p.from_stride[1] + w * p.from_stride[2]));
        if (best_at < 0 || v > best || (v != v && best == best)) {
          best = v;
          best_at = d * p.index_stride[0] + h * p.index_stride[1] + w * p.index_stride[2];
        }
      }
    }
  }
  const tk_i64 y = at.image * p.to_image + at.channel + at.depth * p.to_stride[0] +
                   at.height * p.to_stride[1] + at.width * p.to_stride[2];
  tk_store(to + y, best);
  const tk_i64 image = tk_i64(at.image) * p.image_channels + at.channel;
  index[y] = best_at < 0 ? -1 : image * p.plane + best_at;
}

}  // namespace tk
