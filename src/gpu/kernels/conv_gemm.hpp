// Convolution over channels-last tensors as a matrix product by tiles: the rows of the left operand
// are windows of x, read in place.
#pragma once

#include "gpu/kernels/tile.hpp"

namespace tk {

TK_FN bool tk_inside(int at, int size) {
  return tk_u32(at) < tk_u32(size);
}

// The packed weights of one stage.
template <class T, class S>
TK_FN void tk_load_weights(TK_GLOBAL const T* w, TK_PARAM ConvGemmParams& p, int tid, tk_i64 at,
                           int column, TK_LOCAL tk_vec<4>* nb) {
  TK_UNROLL for (int i = 0; i < S::kLoadsB; ++i) {
    tk_fill_vec(0.0f, nb[i]);
    if (column < p.padded_n && tid < S::kThreadsB) {
      tk_load_vec(w + (at + i * (S::kThreadsB / (S::kN / 4)) * p.padded_n), nb[i]);
    }
  }
}
template <class S>
TK_FN void tk_store_weights(int tid, TK_LOCAL const tk_vec<4>* nb, TK_SHARED float* sb) {
  TK_UNROLL for (int i = 0; i < S::kLoadsB; ++i) {
    if (tid < S::kThreadsB) {
      tk_store_along(sb, S::kStrideB, tid / (S::kN / 4) + i * (S::kThreadsB / (S::kN / 4)),
                     tid % (S::kN / 4) * 4, nb[i]);
    }
  }
}
template <class S>
TK_FN void tk_store_windows(int tid, TK_LOCAL const tk_vec<4>* na, TK_SHARED float* sa) {
  TK_UNROLL for (int i = 0; i < S::kLoadsA; ++i) {
    tk_store_across(sa, S::kStrideA, tid % (S::kK / 4) * 4,
                    tid / (S::kK / 4) + i * (S::kThreads / (S::kK / 4)), na[i]);
  }
}

// Where the window of output pixel m begins; false beyond the last.
TK_FN bool tk_find_window(TK_PARAM ConvGemmParams& p, int m, int group, TK_LOCAL int& top,
                          TK_LOCAL int& left, TK_LOCAL tk_i64& base) {
  int column = m;
  int row = tk_divmod(column, p.columns);
  const int image = tk_divmod(row, p.rows);
  top = row * p.window.sH - p.window.pT;
  left = column * p.window.sW - p.window.pL;
  base = ((tk_i64(image) * p.window.H + top) * p.window.W + left) * p.window.pixel +
         (p.folded ? 0 : group * p.C);
  return m < p.M;
}

// Bit i: tap i of a window that begins at `first`, `step` apart, lies within [0, size).
TK_FN tk_u32 tk_taps_inside(int first, int step, int taps, int size) {
  if (taps == 1) return tk_inside(first, size) ? 1u : 0u;
  tk_u32 inside = 0;
  for (int i = 0; i < taps; ++i) inside |= tk_inside(first + i * step, size) ? 1u << i : 0u;
  return inside;
}

// C and `pixel` are multiples of four: reads are of fours of channels. kH is at most 24, kW 32.
template <class T, class S>
struct tk_conv_vectors {
  struct State {
    tk_i64 base[S::kLoadsA];                       // of the window in x
    tk_u32 rows[S::kLoadsA], columns[S::kLoadsA];  // bit r or s: the tap lies within x
    int r, s, channel, tap;                        // tap: elements from the window's base
    tk_i64 weights;
    int tid, column;
  };
  static TK_FN void place(TK_PARAM ConvGemmParams& p, TK_LOCAL State& t) {
    t.tap = (t.r * p.window.dH * p.window.W + t.s * p.window.dW) * p.window.pixel + t.channel;
  }
  static TK_FN void start(TK_CTX c, TK_PARAM ConvGemmParams& p, int m0, int n0, int group,
                          int first, TK_LOCAL State& t) {
    t.tid = int(c.tid.x);
    TK_UNROLL for (int i = 0; i < S::kLoadsA; ++i) {
      const int m = m0 + t.tid / (S::kK / 4) + i * (S::kThreads / (S::kK / 4));
      int top, left;
      t.rows[i] = t.columns[i] = 0;
      if (tk_find_window(p, m, group, top, left, t.base[i])) {
        t.rows[i] = tk_taps_inside(top, p.window.dH, p.window.kH, p.window.H);
        t.columns[i] = tk_taps_inside(left, p.window.dW, p.window.kW, p.window.W);
      }
    }
    t.channel = first + t.tid % (S::kK / 4) * 4;
    t.s = tk_divmod(t.channel, p.channels);
    t.r = tk_divmod(t.s, p.taps);
    place(p, t);
    t.column = n0 + t.tid % (S::kN / 4) * 4;
    t.weights = (tk_i64(group) * p.padded_k + first + t.tid / (S::kN / 4)) * p.padded_n + t.column;
  }
  static TK_FN void load(TK_GLOBAL const T* x, TK_GLOBAL const T* w, TK_PARAM ConvGemmParams& p,
                         TK_LOCAL const State& t, TK_LOCAL tk_vec<4>* na, TK_LOCAL tk_vec<4>* nb) {
    TK_UNROLL for (int i = 0; i < S::kLoadsA; ++i) {
      tk_fill_vec(0.0f, na[i]);
      if (((t.rows[i] >> t.r) & (t.columns[i] >> t.s) & 1u) != 0u) {
        tk_load_vec(x + (t.base[i] + t.tap), na[i]);
      }
    }
    tk_load_weights<T, S>(w, p, t.tid, t.weights, t.column, nb);
  }
  static TK_FN void store(int tid, TK_PARAM ConvGemmParams&, TK_LOCAL const tk_vec<4>* na,
                          TK_LOCAL const tk_vec<4>* nb, TK_SHARED float* sa, TK_SHARED float* sb) {
    tk_store_windows<S>(tid, na, sa);
    tk_store_weights<S>(tid, nb, sb);
  }
  static TK_FN void advance(TK_PARAM ConvGemmParams& p, TK_LOCAL State& t) {
    t.weights += tk_i64(S::kK) * p.padded_n;
    t.channel += S::kK;
    t.tap += S::kK;
    if (t.channel >= p.C) {
      while (t.channel >= p.C) {
        t.channel -= p.C;
        if (++t.s == p.window.kW) {
          t.s = 0;
          ++t.r;
        }
      }
      place(p, t);
    }
  }
};

// Any number of channels. Where x has one group and no dilation along W, a row of the window is kW
// C neighbouring elements, and `folded` makes one tap of them: C is then kW C, kW 1, `pixel` 1, and
// W, sW and pL count elements, so that W bounds the sum of the column and the channel.
template <class T, class S>
struct tk_conv_scalars {
  struct State {
    tk_i64 base[S::kLoadsA];
    int top[S::kLoadsA], left[S::kLoadsA];
    int k;
    tk_i64 weights;
    int tid, column;
  };
  static TK_FN void start(TK_CTX c, TK_PARAM ConvGemmParams& p, int m0, int n0, int group,
                          int first, TK_LOCAL State& t) {
    t.tid = int(c.tid.x);
    TK_UNROLL for (int i = 0; i < S::kLoadsA; ++i) {
      const int m = m0 + t.tid / (S::kK / 4) + i * (S::kThreads / (S::kK / 4));
      if (!tk_find_window(p, m, group, t.top[i], t.left[i], t.base[i])) t.top[i] = -(1 << 30);
    }
    t.k = first + t.tid % (S::kK / 4) * 4;
    t.column = n0 + t.tid % (S::kN / 4) * 4;
    t.weights = (tk_i64(group) * p.padded_k + first + t.tid / (S::kN / 4)) * p.padded_n + t.column;
  }
  static TK_FN void load(TK_GLOBAL const T* x, TK_GLOBAL const T* w, TK_PARAM ConvGemmParams& p,
                         TK_LOCAL const State& t, TK_LOCAL tk_vec<4>* na, TK_LOCAL tk_vec<4>* nb) {
    TK_UNROLL for (int j = 0; j < 4; ++j) {
      int channel = t.k + j;
      int s = tk_divmod(channel, p.channels);
      const int r = tk_divmod(s, p.taps);
      const int down = r * p.window.dH, right = s * p.window.dW;
      const int tap = (down * p.window.W + right) * p.window.pixel + channel;
      const int end = right + (p.folded ? channel : 0);
      TK_UNROLL for (int i = 0; i < S::kLoadsA; ++i) {
        na[i].v[j] = 0.0f;
        if (t.k + j < p.K && tk_inside(t.top[i] + down, p.window.H) &&
            tk_inside(t.left[i] + end, p.window.W)) {
          na[i].v[j] = tk_load(x + (t.base[i] + tap));
        }
      }
    }
    tk_load_weights<T, S>(w, p, t.tid, t.weights, t.column, nb);
  }
  static TK_FN void store(int tid, TK_PARAM ConvGemmParams&, TK_LOCAL const tk_vec<4>* na,
                          TK_LOCAL const tk_vec<4>* nb, TK_SHARED float* sa, TK_SHARED float* sb) {
    tk_store_windows<S>(tid, na, sa);
    tk_store_weights<S>(tid, nb, sb);
  }
  static TK_FN void advance(TK_PARAM ConvGemmParams& p, TK_LOCAL State& t) {
    t.weights += tk_i64(S::kK) * p.padded_n;
    t.k += S::kK;
  }
};

// Groups x: tiles of M and, neighbouring, of N; z: groups of the convolution and splits of K. With
// more than one split, `partial` gets [splits, M, outputs] floats and split_sum does the rest.
template <class T, class S, class L>
TK_FN void conv_gemm(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL const T* w,
                     TK_GLOBAL const float* bias, TK_GLOBAL const float* slope,
                     TK_GLOBAL const T* residual, TK_GLOBAL float* partial, TK_GLOBAL T* y,
                     TK_PARAM ConvGemmParams& p, TK_SHARED tk_tile_shared<S>& s) {
  int tile = int(c.bid.x), split = int(c.bid.z);
  const int m0 = tk_divmod(tile, p.tiles) * S::kM, n0 = tile * S::kN;
  const int group = tk_divmod(split, p.splits);
  const int first = split * p.split_k, end = tk_imin(first + p.split_k, p.padded_k);
  typename L::State state;
  L::start(c, p, m0, n0, group, first, state);
  tk_results<S::kRows, S::kGroups, 4> sum;
  tk_tile_sum<S, L>(c, x, w, p, s, first, end, state, sum);

  const int tid = int(c.tid.x), column = group * p.N;
  tk_place at;
  at.base = 0;
  at.row = m0 + tk_tile_row<S>(tid);
  at.row_gap = S::kRowGap;
  at.height = p.M;
  at.column = column + n0 + tk_tile_column<S>(tid);
  at.column_gap = S::kColumnGap;
  at.width = column + p.N;
  if (p.splits.divisor > 1) {
    at.base = tk_i64(split) * p.M;
    tk_store_partial<4>(partial, at, p.outputs, p.N % 4 == 0, sum);
  } else {
    tk_finish_all<4>(p.epilogue, at, bias, slope, residual, y, sum);
  }
}

template <class T, class S>
TK_FN void conv_gemm_vectors(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL const T* w,
                             TK_GLOBAL const float* bias, TK_GLOBAL const float* slope,
                             TK_GLOBAL const T* residual, TK_GLOBAL float* partial, TK_GLOBAL T* y,
                             TK_PARAM ConvGemmParams& p, TK_SHARED tk_tile_shared<S>& s) {
  conv_gemm<T, S, tk_conv_vectors<T, S> >(c, x, w, bias, slope, residual, partial, y, p, s);
}
template <class T, class S>
TK_FN void conv_gemm_scalars(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL const T* w,
                             TK_GLOBAL const float* bias, TK_GLOBAL const float* slope,
                             TK_GLOBAL const T* residual, TK_GLOBAL float* partial, TK_GLOBAL T* y,
                             TK_PARAM ConvGemmParams& p, TK_SHARED tk_tile_shared<S>& s) {
  conv_gemm<T, S, tk_conv_scalars<T, S> >(c, x, w, bias, slope, residual, partial, y, p, s);
}

}  // namespace tk
