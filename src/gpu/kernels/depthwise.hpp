// Depthwise convolution over channels-last tensors: weights [kH, kW, O], O the channels of the
// output. A thread computes V neighbouring channels of OWN neighbouring pixels of a row, or of DOWN
// rows.
#pragma once

#include "gpu/dialect/dialect.hpp"
#include "gpu/kernels/conv_epilogue.hpp"

namespace tk {

struct tk_depthwise_part {
  int channel, column, row;  // column: the first of OWN, row: of DOWN
  int top, left;             // of its window
  tk_i64 image;              // rows of x before it
};
template <int V, int OWN, int DOWN>
TK_FN void tk_find_depthwise(TK_PARAM DepthwiseParams& p, int thread, TK_LOCAL tk_depthwise_part& t,
                             TK_LOCAL tk_place& place) {
  t.channel = thread;
  t.column = tk_divmod(t.channel, p.channels);
  t.row = tk_divmod(t.column, p.columns);
  const int image = tk_divmod(t.row, p.rows);
  t.channel *= V;
  t.column *= OWN;
  t.row *= DOWN;
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
TK_FN void tk_load_taps(TK_GLOBAL const T* w, TK_PARAM DepthwiseParams& p,
                        TK_LOCAL tk_vec<V>* weight) {
  TK_UNROLL for (int s = 0; s < K; ++s) tk_load_vec(w + s * p.weights, weight[s]);
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
  tk_load_taps<T, V, K>(w, p, weight);
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
  const int thread = int(c.bid.x * c.bdim.x + c.tid.x);
  if (thread >= p.threads) return;
  tk_depthwise_part t;
  tk_place place;
  tk_find_depthwise<V, OWN, 1>(p, thread, t, place);
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
      tk_load_taps<T, V, K>(w + r * K * p.weights, p, weight[r]);
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

// K x K, stride 1, two rows of OWN pixels a thread: K + 1 rows of x serve both. Where there are
// threads enough, time goes by what is read from the cache.
template <class T, int V, int K, int OWN>
TK_FN void depthwise_two_rows(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL const T* w,
                              TK_GLOBAL const float* bias, TK_GLOBAL const float* slope,
                              TK_GLOBAL const T* residual, TK_GLOBAL T* y,
                              TK_PARAM DepthwiseParams& p, TK_SHARED tk_no_shared&) {
  const int thread = int(c.bid.x * c.bdim.x + c.tid.x);
  if (thread >= p.threads) return;
  tk_depthwise_part t;
  tk_place place;
  tk_find_depthwise<V, OWN, 2>(p, thread, t, place);
  tk_results<OWN, 1, V> upper, lower;
  tk_clear(upper);
  tk_clear(lower);
  const tk_i64 row = tk_i64(p.window.W) * p.window.pixel;
  x += (t.image + t.top) * row + (t.left * p.window.pixel + t.channel);
  w += t.channel;
  tk_vec<V> weight[2][K];  // of this row and of the one before
  TK_UNROLL for (int r = 0; r <= K; ++r) {
    if (r < K) tk_load_taps<T, V, K>(w + r * K * p.weights, p, weight[r & 1]);
    if (tk_u32(t.top + r) < tk_u32(p.window.H)) {
      tk_vec<V> in[OWN - 1 + K];
      tk_load_pixels<T, V, OWN - 1 + K>(x + r * row, p, t.left, true, in);
      if (r < K) tk_add_row<V, K, 1, OWN>(in, weight[r & 1], upper);
      if (r > 0) tk_add_row<V, K, 1, OWN>(in, weight[(r - 1) & 1], lower);
    }
  }
  tk_finish_all<OWN>(p.epilogue, place, bias, slope, residual, y, upper);
  if (t.row + 1 == p.oH) return;
  place.base += p.oW;
  tk_finish_all<OWN>(p.epilogue, place, bias, slope, residual, y, lower);
}

// Any kernel. V > 1 asks for multiplier 1.
template <class T, int V, int OWN>
TK_FN void depthwise_any(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL const T* w,
                         TK_GLOBAL const float* bias, TK_GLOBAL const float* slope,
                         TK_GLOBAL const T* residual, TK_GLOBAL T* y, TK_PARAM DepthwiseParams& p,
                         TK_SHARED tk_no_shared&) {
  const int thread = int(c.bid.x * c.bdim.x + c.tid.x);
  if (thread >= p.threads) return;
  tk_depthwise_part t;
  tk_place place;
  tk_find_depthwise<V, OWN, 1>(p, thread, t, place);
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
