// Depthwise convolution of many rows: a group of threads takes 16 channels of up to 56 neighbouring
// columns of p.down rows of the output, and goes down the rows of x that these see, the next K - 1
// of them on their way to shared memory. Beside depthwise_down, whose threads read x themselves, it
// reads further ahead and asks for the edges of x once a group.
#pragma once

#include "gpu/kernels/depthwise.hpp"

namespace tk {

// Where columns of x lie in shared memory, in words: every two have a gap behind them, so that
// threads that read at the same time read other banks.
template <class T, int K>
struct tk_ring {
  enum {
    kColumn = int(kRingPairs) * int(tk_packed<T, 2>::kWords),
    kTwo = 5 * kColumn / 2,
    kChunks = kColumn / 4,  // of 16 bytes, a column
    kRow = 2 * kTwo * (kRingGroups + (K + 2) / 4),
    // Rounds in which the threads of a group copy a row: (groups + 1) 4 kChunks / (8 groups).
    kRounds = (4 * kChunks * (kRingLeast + (K + 2) / 4) + kRingPairs * kRingLeast - 1) /
              (kRingPairs * kRingLeast)
  };
};
template <class T, int K>
struct tk_ring_shared {
  tk_u32x4 rows[K * tk_ring<T, K>::kRow / 4];
};
typedef tk_ring_shared<float, 5> tk_ring_5_f32;
typedef tk_ring_shared<tk_half, 5> tk_ring_5_f16;

TK_FN void tk_shared_words(TK_SHARED const tk_u32* p, TK_LOCAL tk_words<1>& r) {
  r.v[0] = *p;
}
TK_FN void tk_shared_words(TK_SHARED const tk_u32* p, TK_LOCAL tk_words<2>& r) {
  const tk_u32x2 q = *(TK_SHARED const tk_u32x2*)p;
  r.v[0] = q.x;
  r.v[1] = q.y;
}

// What a thread copies of each row: 16 bytes a round.
template <class T, int K>
struct tk_ring_copy {
  TK_GLOBAL const T* from;            // of the first round
  int step;                           // to that of the next
  int to, to_step;                    // in units of 16 bytes
  bool last;                          // it takes part in the last round
  bool take[tk_ring<T, K>::kRounds];  // there is such a column and channel
};
template <class T, int K>
TK_FN void tk_fetch_row(TK_LOCAL tk_ring_copy<T, K>& copy, tk_i64 row, bool there, int slot,
                        TK_SHARED tk_ring_shared<T, K>& s) {
  TK_UNROLL for (int q = 0; q < tk_ring<T, K>::kRounds; ++q) {
    if (there && (q + 1 < tk_ring<T, K>::kRounds || copy.last)) {
      tk_async_copy16(s.rows + (copy.to + q * copy.to_step + slot * (tk_ring<T, K>::kRow / 4)),
                      copy.from + q * copy.step, copy.take[q]);
    }
  }
  copy.from += row;
  tk_async_commit();
}

// Kernels of K x K without dilation, stride 1, multiplier 1; pixels of x and y begin at 16 bytes.
template <bool PLAIN, class T, int K>
TK_FN void tk_ring_rows(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL const T* w,
                        TK_GLOBAL const float* bias, TK_GLOBAL const float* slope,
                        TK_GLOBAL const T* residual, TK_GLOBAL T* y, TK_PARAM DepthwiseParams& p,
                        TK_SHARED tk_ring_shared<T, K>& s) {
  typedef tk_ring<T, K> Ring;
  enum { kColumns = kRingPixels + K - 1, kElements = 16 / int(sizeof(T)) };
  const int thread = int(c.tid.x), threads = int(c.bdim.x), groups = threads / kRingPairs;
  int slab = int(c.bid.x);
  int tile = tk_divmod(slab, p.channels);
  int strip = tk_divmod(tile, p.columns);
  const int image = tk_divmod(strip, p.rows);
  const int own = thread / kRingPairs;
  const int channel = slab * (2 * kRingPairs) + thread % kRingPairs * 2;
  const int column = (tile * groups + own) * kRingPixels;
  const int top = strip * p.down - p.window.pT;
  const int rows = tk_imin(p.down, p.oH - strip * p.down);
  const tk_i64 row = tk_i64(p.window.W) * p.window.pixel;

  tk_ring_copy<T, K> copy;
  TK_UNROLL for (int q = 0; q < Ring::kRounds; ++q) {
    const int i = thread + q * threads, at = i / Ring::kChunks, chunk = i % Ring::kChunks;
    const int left = tile * groups * kRingPixels - p.window.pL + at;
    const int first = slab * (2 * kRingPairs) + chunk * kElements;
    copy.last = at < (groups + (K + 2) / 4) * 4;
    copy.take[q] = tk_u32(left) < tk_u32(p.window.W) && first < p.weights;
  }
  const int left = thread / Ring::kChunks;
  copy.to = (left / 2 * Ring::kTwo + left % 2 * Ring::kColumn) / 4 + thread % Ring::kChunks;
  copy.to_step = threads / Ring::kChunks / 2 * (Ring::kTwo / 4);  // an even number of columns
  copy.step = threads / Ring::kChunks * p.window.pixel;
  copy.from =
      x + ((tk_i64(image) * p.window.H + top) * row +
           ((tile * groups * kRingPixels - p.window.pL + thread / Ring::kChunks) * p.window.pixel +
            slab * (2 * kRingPairs) + thread % Ring::kChunks * kElements));
  TK_UNROLL for (int i = 0; i < K - 1; ++i) {
    tk_fetch_row<T, K>(copy, row, tk_u32(top + i) < tk_u32(p.window.H), i, s);
  }

  const bool live = channel < p.weights;
  float weight[K][K][2];
  TK_UNROLL for (int r = 0; r < K; ++r) {
    tk_vec<2> taps[K];
    tk_load_taps<T, 2, K>(w + (r * K * p.weights + (live ? channel : 0)), p, taps);
    TK_UNROLL for (int k = 0; k < K; ++k) {
      TK_UNROLL for (int v = 0; v < 2; ++v) weight[r][k][v] = taps[k].v[v];
    }
  }
  tk_vec<2> biases, slopes;
  tk_load_columns(p.epilogue, bias, slope, channel, p.weights, biases, slopes);
  tk_place place;
  place.base = (tk_i64(image) * p.oH + strip * p.down) * p.oW;
  place.row = column;
  place.row_gap = 0;
  place.height = live ? p.oW : 0;
  place.column = channel;
  place.column_gap = 0;
  place.width = p.weights;
  const int columns = place.height - column;
  const tk_i64 y_row = tk_i64(p.oW) * p.epilogue.y_stride;
  TK_GLOBAL T* to = y + ((place.base + column) * p.epilogue.y_stride + channel);
  TK_SHARED const tk_u32* mine = (TK_SHARED const tk_u32*)s.rows + own * (2 * Ring::kTwo) +
                                 thread % kRingPairs * tk_packed<T, 2>::kWords;

  // Row i of x is row t of the windows of row i - t of the output, whose sums are sum[(i - t) % K].
  tk_results<kRingPixels, 1, 2> sum[K];
  TK_UNROLL for (int a = 0; a < K; ++a) tk_clear(sum[a]);
  int i = 0;
  TK_NO_UNROLL while (true) {
    TK_UNROLL for (int phase = 0; phase < K; ++phase) {
      tk_async_wait<K - 2>();
      TK_BARRIER(c);
      const int next = i + K - 1;
      tk_fetch_row<T, K>(copy, row, next < rows + K - 1 && tk_u32(top + next) < tk_u32(p.window.H),
                         (phase + K - 1) % K, s);
      if (tk_u32(top + i) < tk_u32(p.window.H)) {
        tk_vec<2> in[kColumns];
        TK_UNROLL for (int k = 0; k < kColumns; ++k) {
          tk_words<tk_packed<T, 2>::kWords> words;
          tk_shared_words(mine + (phase * Ring::kRow + k / 2 * Ring::kTwo + k % 2 * Ring::kColumn),
                          words);
          tk_packed<T, 2>::widen(words, in[k]);
        }
        TK_UNROLL for (int t = 0; t < K; ++t) {
          if (tk_u32(i - t) >= tk_u32(rows)) continue;
          TK_LOCAL tk_results<kRingPixels, 1, 2>& of = sum[(phase + K - t) % K];
          TK_UNROLL for (int k = 0; k < K; ++k) {
            TK_UNROLL for (int o = 0; o < kRingPixels; ++o) {
              TK_UNROLL for (int v = 0; v < 2; ++v) {
                of.v[o][v] = tk_fma(in[o + k].v[v], weight[t][k][v], of.v[o][v]);
              }
            }
          }
        }
      }
      const int done = (phase + 1) % K;
      if (i >= K - 1) {
        if (PLAIN) {
          tk_finish_plain(p.epilogue, biases, columns, to, sum[done]);
        } else {
          tk_finish_all<kRingPixels>(p.epilogue, place, bias, slope, residual, y, sum[done]);
        }
        to += y_row;
        place.base += p.oW;
        if (i == rows + K - 2) return;
      }
      tk_clear(sum[done]);
      ++i;
    }
  }
}

template <class T, int K>
TK_FN void depthwise_ring(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL const T* w,
                          TK_GLOBAL const float* bias, TK_GLOBAL const float* slope,
                          TK_GLOBAL const T* residual, TK_GLOBAL T* y, TK_PARAM DepthwiseParams& p,
                          TK_SHARED tk_ring_shared<T, K>& s) {
  if (p.epilogue.act <= kActClip && p.epilogue.residual == kNoResidual && p.epilogue.vectors) {
    tk_ring_rows<true, T, K>(c, x, w, bias, slope, residual, y, p, s);
  } else {
    tk_ring_rows<false, T, K>(c, x, w, bias, slope, residual, y, p, s);
  }
}

}  // namespace tk
