// Depthwise convolution over channels-last tensors: weights [kH, kW, O], O the channels of the
// output. A thread computes V neighbouring channels of OWN neighbouring pixels of one row, or of
// p.down rows.
#pragma once

#include "gpu/dialect/dialect.hpp"
#include "gpu/kernels/conv_epilogue.hpp"

namespace tk {

struct tk_depthwise_part {
  int channel, column, row;  // column: the first of OWN, row: of p.down
  int top, left;             // of its window
  tk_i64 image;              // rows of x before it
};
template <int V, int OWN>
TK_FN void tk_find_depthwise(TK_PARAM DepthwiseParams& p, int tid, int down,
                             TK_LOCAL tk_depthwise_part& t, TK_LOCAL tk_place& place) {
  t.channel = tid;
  t.column = tk_divmod(t.channel, p.channels);
  t.row = tk_divmod(t.column, p.columns);
  const int image = tk_divmod(t.row, p.rows);
  t.channel *= V;
  t.column *= OWN;
  t.row *= down;
  t.top = t.row * p.window.sH - p.window.pT;
  t.left = t.column * p.window.sW - p.window.pL;
  t.image = tk_i64(image) * p.window.H;
  place.base = (tk_i64(image) * p.oH + t.row) * p.oW;
  place.row = t.column;
  place.row_gap = 0;
  place.height = p.oW;
  place.column = t.channel;
  place.column_gap = 0;
  place.width = p.weights;
}

// BYTES: of an element.
template <int V, int K, int S, int OWN, int BYTES>
struct tk_depthwise_window {
  enum {
    kColumns = (OWN - 1) * S + K,
    kWords = V * BYTES > 4 ? V* BYTES / 4 : 1,
    // There are registers for all rows at once.
    kAhead = V * OWN <= 8 && kWords * K * (kColumns + K) <= (BYTES == 4 ? 144 : 80),
    // Fetching instructions that run once takes longer than the loop.
    kLoop = K > 3 && OWN < 4
  };
};

// Of a row of the windows of a thread: what it reads of x from `x` on, and the weights.
template <class T, int V, int COLUMNS>
TK_FN void tk_load_pixels(TK_GLOBAL const T* x, TK_PARAM DepthwiseParams& p, int left, bool inside,
                          TK_LOCAL tk_vec<V>* in) {
  TK_UNROLL for (int i = 0; i < COLUMNS; ++i) {
    tk_fill_vec(0.0f, in[i]);
    if (inside && tk_u32(left + i) < tk_u32(p.window.W)) {
      tk_load_vec(x + i * p.window.pixel, in[i]);
    }
  }
}
template <class T, int V, int K>
TK_FN void tk_load_taps(TK_GLOBAL const T* w, int channels, TK_LOCAL tk_vec<V>* weight) {
  TK_UNROLL for (int s = 0; s < K; ++s) tk_load_vec(w + s * channels, weight[s]);
}
template <int V, int K, int S, int OWN>
TK_FN void tk_add_row(TK_LOCAL const tk_vec<V>* in, TK_LOCAL const tk_vec<V>* weight,
                      TK_LOCAL tk_results<OWN, 1, V>& sum) {
  TK_UNROLL for (int s = 0; s < K; ++s) {
    TK_UNROLL for (int o = 0; o < OWN; ++o) {
      TK_UNROLL for (int v = 0; v < V; ++v) {
        sum.v[o][v] = tk_fma(in[o * S + s].v[v], weight[s].v[v], sum.v[o][v]);
      }
    }
  }
}

template <class T, int V, int K, int S, int OWN>
TK_FN void tk_one_row(TK_GLOBAL const T* x, TK_GLOBAL const T* w, TK_PARAM DepthwiseParams& p,
                      int left, TK_LOCAL tk_results<OWN, 1, V>& sum) {
  tk_vec<V> in[(OWN - 1) * S + K], weight[K];
  tk_load_pixels<T, V, (OWN - 1) * S + K>(x, p, left, true, in);
  tk_load_taps<T, V, K>(w, p.weights, weight);
  tk_add_row<V, K, S, OWN>(in, weight, sum);
}

// Kernels of K x K without dilation, stride S, multiplier 1: every pixel of x that a thread needs
// is read once. Threads that can read all rows before they use the first do: where there are few
// threads, time goes by the latency of reads.
template <class T, int V, int K, int S, int OWN>
TK_FN void depthwise_square(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL const T* w,
                            TK_GLOBAL const float* bias, TK_GLOBAL const float* slope,
                            TK_GLOBAL const T* residual, TK_GLOBAL T* y,
                            TK_PARAM DepthwiseParams& p, TK_SHARED tk_no_shared&) {
  const int tid = int(c.bid.x * c.bdim.x + c.tid.x);
  if (tid >= p.threads) return;
  tk_depthwise_part t;
  tk_place place;
  tk_find_depthwise<V, OWN>(p, tid, 1, t, place);
  tk_results<OWN, 1, V> sum;
  tk_clear(sum);
  typedef tk_depthwise_window<V, K, S, OWN, int(sizeof(T))> Window;
  const tk_i64 row = tk_i64(p.window.W) * p.window.pixel;
  x += (t.image + t.top) * row + (t.left * p.window.pixel + t.channel);
  w += t.channel;
  if (Window::kAhead != 0) {
    tk_vec<V> in[K][Window::kColumns], weight[K][K];
    TK_UNROLL for (int r = 0; r < K; ++r) {
      const bool inside = tk_u32(t.top + r) < tk_u32(p.window.H);
      tk_load_pixels<T, V, Window::kColumns>(x + r * row, p, t.left, inside, in[r]);
      tk_load_taps<T, V, K>(w + r * K * p.weights, p.weights, weight[r]);
    }
    TK_UNROLL for (int r = 0; r < K; ++r) {
      if (tk_u32(t.top + r) < tk_u32(p.window.H)) tk_add_row<V, K, S, OWN>(in[r], weight[r], sum);
    }
  } else if (Window::kLoop != 0) {
    const int begin = tk_imax(0, -t.top), end = tk_imin(K, p.window.H - t.top);
    TK_NO_UNROLL for (int r = begin; r < end; ++r) {
      tk_one_row<T, V, K, S, OWN>(x + r * row, w + r * K * p.weights, p, t.left, sum);
    }
  } else {
    TK_UNROLL for (int r = 0; r < K; ++r) {
      if (tk_u32(t.top + r) < tk_u32(p.window.H)) {
        tk_one_row<T, V, K, S, OWN>(x + r * row, w + r * K * p.weights, p, t.left, sum);
      }
    }
  }
  tk_finish_all<OWN>(p.epilogue, place, bias, slope, residual, y, sum);
}

// Column k of the window of a thread in row h of x, zeros outside of it.
template <class T, int N>
TK_FN void tk_fetch_pixel(TK_GLOBAL const T* x, TK_PARAM DepthwiseParams& p, int h, int end,
                          int left, int k, TK_LOCAL tk_words<N>& words) {
  TK_UNROLL for (int i = 0; i < N; ++i) words.v[i] = 0;
  if (tk_u32(h) < tk_u32(end) && tk_u32(left + k) < tk_u32(p.window.W)) {
    tk_load_words(x + tk_u32(k) * tk_u32(p.window.pixel), words);
  }
}
// What it adds to OPEN rows of sums, the uppermost of them sum[first]: it is in row `tap` of that
// one's windows.
template <int V, int K, int S, int OWN, int OPEN>
TK_FN void tk_add_pixel(TK_LOCAL const tk_vec<V>& in, int k, int tap, int first,
                        TK_LOCAL const float (&weight)[K][K][V],
                        TK_LOCAL tk_results<OWN, 1, V> (&sum)[OPEN]) {
  TK_UNROLL for (int a = 0; a < OPEN; ++a) {
    if (tap - a * S < 0) continue;
    TK_UNROLL for (int o = 0; o < OWN; ++o) {
      if (k - o * S < 0 || k - o * S >= K) continue;
      TK_UNROLL for (int v = 0; v < V; ++v) {
        TK_LOCAL float& to = sum[(first + a) % OPEN].v[o][v];
        to = tk_fma(in.v[v], weight[tap - a * S][k - o * S][v], to);
      }
    }
  }
}

// Where a thread of depthwise_down is.
template <class T, int V, int K>
struct tk_descent {
  float weight[K][K][V];
  TK_GLOBAL const T* x;
  TK_GLOBAL T* y;  // of the row that is finished next
  int h, left;     // of x
  int row, rows;   // of the rows of the thread, the one that is finished next
  int columns;     // right of the first
};

// Results without residual that take no more than a clip.
template <int V, int OWN, class T>
TK_FN void tk_finish_plain(TK_PARAM EpilogueParams& e, TK_LOCAL const tk_vec<V>& bias, int columns,
                           TK_GLOBAL T* y, TK_LOCAL const tk_results<OWN, 1, V>& sum) {
  TK_UNROLL for (int o = 0; o < OWN; ++o) {
    tk_vec<V> r;
    TK_UNROLL for (int v = 0; v < V; ++v) r.v[v] = tk_clip(sum.v[o][v] + bias.v[v], e.a, e.b);
    if (o < columns) tk_store_vec(y, r);
    y += tk_i64(e.y_stride);
  }
}

template <bool PLAIN, class T, int V, int K, int S, int OWN>
TK_FN void tk_descend(TK_GLOBAL const float* bias, TK_GLOBAL const float* slope,
                      TK_GLOBAL const T* residual, TK_GLOBAL T* y, TK_PARAM DepthwiseParams& p,
                      TK_LOCAL tk_descent<T, V, K>& t, TK_LOCAL tk_place& place) {
  enum { kColumns = (OWN - 1) * S + K, kOpen = (K + S - 1) / S };
  const tk_i64 row = tk_i64(p.window.W) * p.window.pixel;
  const tk_i64 y_row = tk_i64(p.oW) * p.epilogue.y_stride;
  tk_vec<V> biases, slopes;
  tk_load_columns(p.epilogue, bias, slope, place.column, place.width, biases, slopes);
  tk_results<OWN, 1, V> sum[kOpen];
  TK_UNROLL for (int a = 0; a < kOpen; ++a) tk_clear(sum[a]);
  tk_words<tk_packed<T, V>::kWords> ahead[S][kColumns];
  TK_UNROLL for (int q = 0; q < S; ++q) {
    TK_UNROLL for (int k = 0; k < kColumns; ++k) {
      tk_fetch_pixel(t.x + q * row, p, t.h + q, p.window.H, t.left, k, ahead[q][k]);
    }
  }
  TK_NO_UNROLL while (true) {
    TK_UNROLL for (int first = 0; first < kOpen; ++first) {
      if (t.row >= t.rows) return;
      const int end = t.row + 1 < t.rows ? p.window.H : 0;
      t.x += S * row;
      TK_UNROLL for (int q = 0; q < S; ++q) {
        TK_UNROLL for (int k = 0; k < kColumns; ++k) {
          tk_vec<V> in;
          tk_packed<T, V>::widen(ahead[q][k], in);
          tk_fetch_pixel(t.x + q * row, p, t.h + S + q, end, t.left, k, ahead[q][k]);
          tk_add_pixel<V, K, S, OWN>(in, k, K - S + q, first, t.weight, sum);
        }
      }
      t.h += S;
      if (t.row >= 0) {
        if (PLAIN) {
          tk_finish_plain(p.epilogue, biases, t.columns, t.y, sum[first]);
        } else {
          tk_finish_all<OWN>(p.epilogue, place, bias, slope, residual, y, sum[first]);
        }
      }
      ++t.row;
      t.y += y_row;
      place.base += p.oW;
      tk_clear(sum[first]);
    }
  }
}

// The same, p.down rows a thread: its weights stay in registers, as do the sums of the rows of the
// output that the last row of x is part of, so that a thread reads each pixel once. Where there are
// threads enough, time goes by what is read from the cache and converted from 16 bits.
template <class T, int V, int K, int S, int OWN>
TK_FN void depthwise_down(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL const T* w,
                          TK_GLOBAL const float* bias, TK_GLOBAL const float* slope,
                          TK_GLOBAL const T* residual, TK_GLOBAL T* y, TK_PARAM DepthwiseParams& p,
                          TK_SHARED tk_no_shared&) {
  const int tid = int(c.bid.x * c.bdim.x + c.tid.x);
  if (tid >= p.threads) return;
  tk_depthwise_part part;
  tk_place place;
  tk_find_depthwise<V, OWN>(p, tid, p.down, part, place);
  tk_descent<T, V, K> t;
  TK_UNROLL for (int r = 0; r < K; ++r) {
    tk_vec<V> taps[K];
    tk_load_taps<T, V, K>(w + (r * K * p.weights + part.channel), p.weights, taps);
    TK_UNROLL for (int s = 0; s < K; ++s) {
      TK_UNROLL for (int v = 0; v < V; ++v) t.weight[r][s][v] = taps[s].v[v];
    }
  }
  // Of what comes above row 0 only rows of x that are there matter.
  const int open = (K + S - 1) / S;
  t.row = 1 - open;
  t.h = part.top + K - open * S;  // the first of the S rows of x that complete a row
  while (S == 1 && t.h < 0 && t.row < 0) {
    ++t.h;
    ++t.row;
  }
  t.rows = tk_imin(p.down, p.oH - part.row);
  t.left = part.left;
  t.columns = p.oW - part.column;
  t.x = x + ((part.image + t.h) * (tk_i64(p.window.W) * p.window.pixel) +
             (part.left * p.window.pixel + part.channel));
  place.base += tk_i64(t.row) * p.oW;
  t.y = y + ((place.base + part.column) * p.epilogue.y_stride + part.channel);
  if (p.epilogue.act <= kActClip && p.epilogue.residual == kNoResidual && p.epilogue.vectors) {
    tk_descend<true, T, V, K, S, OWN>(bias, slope, residual, y, p, t, place);
  } else {
    tk_descend<false, T, V, K, S, OWN>(bias, slope, residual, y, p, t, place);
  }
}

// Any kernel. V > 1 asks for multiplier 1.
template <class T, int V, int OWN>
TK_FN void depthwise_any(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL const T* w,
                         TK_GLOBAL const float* bias, TK_GLOBAL const float* slope,
                         TK_GLOBAL const T* residual, TK_GLOBAL T* y, TK_PARAM DepthwiseParams& p,
                         TK_SHARED tk_no_shared&) {
  const int tid = int(c.bid.x * c.bdim.x + c.tid.x);
  if (tid >= p.threads) return;
  tk_depthwise_part t;
  tk_place place;
  tk_find_depthwise<V, OWN>(p, tid, 1, t, place);
  const int source = V > 1 ? t.channel : tk_div(t.channel, p.multiplier);
  tk_results<OWN, 1, V> sum;
  tk_clear(sum);
  for (int r = 0; r < p.window.kH; ++r) {
    const int h = t.top + r * p.window.dH;
    if (h < 0 || h >= p.window.H) continue;
    const tk_i64 row = (t.image + h) * p.window.W;
    for (int s = 0; s < p.window.kW; ++s) {
      tk_vec<V> weight;
      tk_load_vec(w + (tk_i64(r * p.window.kW + s) * p.weights + t.channel), weight);
      TK_UNROLL for (int o = 0; o < OWN; ++o) {
        const int column = t.left + o * p.window.sW + s * p.window.dW;
        if (column >= 0 && column < p.window.W) {
          tk_vec<V> in;
          tk_load_vec(x + ((row + column) * p.window.pixel + source), in);
          TK_UNROLL for (int v = 0; v < V; ++v) {
            sum.v[o][v] = tk_fma(in.v[v], weight.v[v], sum.v[o][v]);
          }
        }
      }
    }
  }
  tk_finish_all<OWN>(p.epilogue, place, bias, slope, residual, y, sum);
}

}  // namespace tk

#ifdef TK_OWN_KERNELS
#include "gpu/metal/depthwise_halo.hpp"
#endif
