// Depthwise convolution of many rows: parts of a group of threads take 32 bytes of channels of
// neighbouring columns each and go down the rows of x that these see, the next K - 1 of them on
// their way to shared memory. Beside depthwise_down, whose threads read x themselves, it reads
// further ahead and asks for the edges of x once a group.
#pragma once

#include "gpu/kernels/depthwise.hpp"

namespace tk {

// Columns of x lie in shared memory one behind the other. Threads that read at the same time are
// neighbours along the channels, then kRingPixels columns apart: an odd number, so that they read
// other banks. A part has K - 1 columns beyond those of its threads.
template <class T, int K>
struct tk_ring {
  enum {
    kChannels = int(kRingBytes) / int(sizeof(T)),
    kPairs = kChannels / 2,          // threads along the channels
    kWords = int(kRingBytes) / 4,    // a column
    kChunks = int(kRingBytes) / 16,  // that a thread copies at a time
    kColumns = int(kRingPixels) + K - 1,
    kRow = (int(kRingAcross) * int(kRingPixels) + int(kRingAcross) / int(kRingLeast) * (K - 1)) *
           kWords,
    // Rounds in which the threads of the smallest part copy a row.
    kRounds = ((kRingLeast * kRingPixels + K - 1) * kChunks + kPairs * kRingLeast - 1) /
              (kPairs * kRingLeast)
  };
};
template <class T, int K>
struct tk_ring_shared {
  tk_u32x4 rows[K * tk_ring<T, K>::kRow / 4];
};
typedef tk_ring_shared<tk_half, 5> tk_ring_5_f16;

TK_FN void tk_shared_words(TK_SHARED const tk_u32* p, TK_LOCAL tk_words<1>& r) {
  r.v[0] = *p;
}

enum { kRingOut = -0x7fffffff - 1 };
// A way down. Row i of x is row t of the windows of row i - t of the result, whose sums are sum[t].
template <class T, int K>
struct tk_ring_way {
  float weight[K][K][2];
  float bias[2], sum[K][kRingPixels][2];
  // What the thread copies of a row, 16 bytes a round.
  TK_GLOBAL const T* x;  // of the first round
  int x_step;            // to that of the next
  int to, to_step;       // in shared memory, in units of 16 bytes
  tk_i32 take;           // bit q: round q has such a column and channel; kRingOut: it has no last
  TK_SHARED const tk_u32* from;  // its first column of a row in shared memory
  int slot, ahead;               // of row i, and of that on its way
  TK_GLOBAL T* y;
  int columns;        // that it stores
  int end;            // rows of the part, of x
  int first, rows;    // of the result
  int i;              // row of x, from `first` on
  int steady, until;  // rows from `steady` on are all in the middle of an image
};
template <class T, int K>
TK_FN void tk_ring_fetch(TK_LOCAL tk_ring_way<T, K>& way, int row,
                         TK_SHARED tk_ring_shared<T, K>& s) {
  typedef tk_ring<T, K> Ring;
  TK_UNROLL for (int q = 0; q < Ring::kRounds; ++q) {
    if (q + 1 < Ring::kRounds || way.take >= 0) {
      tk_async_copy16(s.rows + (way.to + q * way.to_step + way.ahead * (Ring::kRow / 4)),
                      way.x + q * way.x_step, (way.take >> q & 1) != 0);
    }
  }
  way.x += row;
}
template <class T, int K>
TK_FN void tk_ring_read(TK_SHARED const tk_u32* from, TK_LOCAL tk_vec<2>* in) {
  typedef tk_ring<T, K> Ring;
  TK_UNROLL for (int k = 0; k < Ring::kColumns; ++k) {
    tk_words<tk_packed<T, 2>::kWords> words;
    tk_shared_words(from + k * Ring::kWords, words);
    tk_packed<T, 2>::widen(words, in[k]);
  }
}
// Goes from the windows of the row before to those of this: sum[t] becomes sum[t - 1] and what row
// t of its windows adds, where `adds`.
template <class T, int K>
TK_FN void tk_ring_add(TK_LOCAL tk_ring_way<T, K>& way, TK_LOCAL const tk_vec<2>* in, int t,
                       bool adds) {
  TK_UNROLL for (int o = 0; o < kRingPixels; ++o) {
    TK_UNROLL for (int v = 0; v < 2; ++v) {
      way.sum[t][o][v] = t == 0 ? 0.0f : way.sum[t - 1][o][v];
    }
  }
  if (!adds) return;
  TK_UNROLL for (int k = 0; k < K; ++k) {
    TK_UNROLL for (int o = 0; o < kRingPixels; ++o) {
      TK_UNROLL for (int v = 0; v < 2; ++v) {
        way.sum[t][o][v] = tk_fma(in[o + k].v[v], way.weight[t][k][v], way.sum[t][o][v]);
      }
    }
  }
}

// Whether the next row of x on its way is one, whether row i is, and whether a row of the result is
// done, where not every window that row i is part of is within the same image.
template <class T, int K>
TK_FN void tk_ring_edge(TK_PARAM DepthwiseRingParams& p, TK_LOCAL tk_ring_way<T, K>& way,
                        TK_LOCAL bool& there, TK_LOCAL bool& row, TK_LOCAL bool& done) {
  int next = way.first + way.i + (K - 1), at = way.first + way.i,
      last = way.first + way.i - (K - 1);
  if (next >= way.end) way.take &= kRingOut;
  tk_divmod(next, p.period);
  there = way.i < way.rows && tk_u32(next - p.window.pT) < tk_u32(p.window.H);
  tk_divmod(at, p.period);
  row = tk_u32(at - p.window.pT) < tk_u32(p.window.H);
  done = way.i >= K - 1;
  if (done) {
    if (last >= way.end) way.columns = 0;
    tk_divmod(last, p.period);
    done = last < p.oH;
  }
  const int start = way.i - at;  // of the image
  way.steady = tk_imax(K - 1, start + tk_imax(p.window.pT, K));
  way.until =
      tk_imin(way.rows, start + tk_imin(p.window.pT + p.window.H - (K - 1), p.oH + (K - 1)));
}
// The row that is done, without residual or slopes. A clip comes after rounding to f16: with bounds
// that are rounded too that gives the same, as rounding keeps the order.
template <int K>
TK_FN void tk_ring_store(TK_PARAM DepthwiseRingParams& p, TK_LOCAL tk_ring_way<tk_half, K>& way) {
  typedef tk_packed<tk_half, 2> Pair;
  if (p.epilogue.act <= kActClip && p.epilogue.vectors) {
    tk_vec<2> a, b;
    tk_words<1> low, high;
    tk_fill_vec(p.epilogue.a, a);
    tk_fill_vec(p.epilogue.b, b);
    Pair::narrow(a, low);
    Pair::narrow(b, high);
    TK_GLOBAL tk_half* y = way.y;
    TK_UNROLL for (int o = 0; o < kRingPixels; ++o) {
      tk_vec<2> r;
      TK_UNROLL for (int v = 0; v < 2; ++v) r.v[v] = way.sum[K - 1][o][v] + way.bias[v];
      tk_words<1> pair;
      Pair::narrow(r, pair);
      pair.v[0] = tk_clip_halves(pair.v[0], low.v[0], high.v[0]);
      if (o < way.columns) tk_store_words(y, pair);
      y += tk_i64(p.epilogue.y_stride);
    }
  } else {
    // One copy of the long code: each turn takes the first sum, and the others move up.
    TK_NO_UNROLL for (int n = 0; n < 2 * tk_imin(way.columns, kRingPixels); ++n) {
      const float add = n % 2 == 0 ? way.bias[0] : way.bias[1];
      tk_store(way.y + (n / 2 * p.epilogue.y_stride + n % 2),
               tk_act(p.epilogue, way.sum[K - 1][0][0] + add));
      TK_UNROLL for (int o = 0; o < kRingPixels; ++o) {
        way.sum[K - 1][o][0] = way.sum[K - 1][o][1];
        if (o + 1 < kRingPixels) way.sum[K - 1][o][1] = way.sum[K - 1][o + 1][0];
      }
    }
  }
  way.y += p.y_row;
}
template <class T, int K>
TK_FN void tk_ring_advance(TK_LOCAL tk_ring_way<T, K>& way) {
  way.ahead = way.slot;
  way.slot = way.slot == K - 1 ? 0 : way.slot + 1;
  ++way.i;
}
template <class T, int K>
TK_FN void tk_ring_run(TK_CTX c, TK_PARAM DepthwiseRingParams& p, TK_LOCAL tk_ring_way<T, K>& way,
                       TK_SHARED tk_ring_shared<T, K>& s) {
  tk_vec<2> in[tk_ring<T, K>::kColumns];
  TK_NO_UNROLL while (way.i < way.rows + K - 1) {
    tk_async_wait<K - 2>();
    TK_BARRIER(c);
    bool there, row, done;
    tk_ring_edge<T, K>(p, way, there, row, done);
    if (there) tk_ring_fetch<T, K>(way, p.x_row, s);
    tk_async_commit();
    if (row) tk_ring_read<T, K>(way.from + way.slot * tk_ring<T, K>::kRow, in);
    TK_UNROLL for (int t = K - 1; t >= 0; --t) {
      tk_ring_add<T, K>(way, in, t, row && tk_u32(way.i - t) < tk_u32(way.rows));
    }
    if (done) tk_ring_store<K>(p, way);
    tk_ring_advance<T, K>(way);
    if (way.i < way.steady) continue;
    TK_NO_UNROLL while (way.i < way.until) {
      tk_async_wait<K - 2>();
      TK_BARRIER(c);
      tk_ring_fetch<T, K>(way, p.x_row, s);
      tk_async_commit();
      tk_ring_read<T, K>(way.from + way.slot * tk_ring<T, K>::kRow, in);
      TK_UNROLL for (int t = K - 1; t >= 0; --t) tk_ring_add<T, K>(way, in, t, true);
      tk_ring_store<K>(p, way);
      tk_ring_advance<T, K>(way);
    }
  }
}

// Kernels of K x K without dilation, stride 1, multiplier 1; pixels of x begin at 16 bytes; neither
// slopes nor a residual.
template <class T, int K>
TK_FN void depthwise_ring(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL const T* w,
                          TK_GLOBAL const float* bias, TK_GLOBAL T* y,
                          TK_PARAM DepthwiseRingParams& p, TK_SHARED tk_ring_shared<T, K>& s) {
  typedef tk_ring<T, K> Ring;
  int index = int(c.tid.x), slab = int(c.bid.y);
  const int threads = int(p.part.divisor), across = threads / Ring::kPairs;
  const int which = tk_divmod(index, p.part);
  const int tile = tk_divmod(slab, p.slabs);
  tk_ring_way<T, K> way;
  way.first = int(c.bid.x) * p.down;
  way.rows = tk_imin(p.down, (p.images - 1) * int(p.period.divisor) + p.oH - way.first);
  way.end = tk_imin(p.images, p.all_images - which * p.images) * int(p.period.divisor);
  way.steady = way.until = way.i = way.slot = 0;
  const int left = tile * (across * kRingPixels), own = index / Ring::kPairs * kRingPixels;
  const int channel = slab * Ring::kChannels + index % Ring::kPairs * 2;
  int at = way.first;
  const int image = tk_divmod(at, p.period);

  const int before = which * (across * kRingPixels + K - 1);  // columns
  way.from = (TK_SHARED const tk_u32*)s.rows + (before + own) * Ring::kWords +
             index % Ring::kPairs * tk_packed<T, 2>::kWords;
  const int column = index / Ring::kChunks, step = threads / Ring::kChunks;
  const int chunk = slab * Ring::kChannels + index % Ring::kChunks * (16 / int(sizeof(T)));
  const int above = tk_imin(tk_imax(at - p.window.pT, 0), p.window.H);  // rows of x in the image
  way.x = x + ((tk_i64(which * p.images + image) * p.window.H + above) * p.x_row +
               ((left - p.window.pL + column) * p.window.pixel + chunk));
  way.x_step = step * p.window.pixel;
  way.to = before * Ring::kChunks + index;
  way.to_step = threads;
  way.take = column + (Ring::kRounds - 1) * step < across * kRingPixels + K - 1 ? 0 : kRingOut;
  TK_UNROLL for (int q = 0; q < Ring::kRounds; ++q) {
    const int k = column + q * step;
    if (way.first < way.end && chunk < p.channels &&
        tk_u32(left - p.window.pL + k) < tk_u32(p.window.W)) {
      way.take |= 1 << q;
    }
  }
  const bool live = channel < p.channels;
  TK_UNROLL for (int r = 0; r < K; ++r) {
    tk_vec<2> taps[K];
    tk_load_taps<T, 2, K>(w + (r * K * p.channels + (live ? channel : 0)), p.channels, taps);
    TK_UNROLL for (int k = 0; k < K; ++k) {
      TK_UNROLL for (int v = 0; v < 2; ++v) way.weight[r][k][v] = taps[k].v[v];
    }
  }
  TK_UNROLL for (int v = 0; v < 2; ++v) {
    way.bias[v] = p.epilogue.bias && live ? tk_load(bias + channel + v) : 0.0f;
    TK_UNROLL for (int t = 0; t < K; ++t) {
      TK_UNROLL for (int o = 0; o < kRingPixels; ++o) way.sum[t][o][v] = 0.0f;
    }
  }
  TK_UNROLL for (int i = 0; i < K - 1; ++i) {
    int next = way.first + i;
    if (next >= way.end) way.take &= kRingOut;
    tk_divmod(next, p.period);
    if (tk_u32(next - p.window.pT) < tk_u32(p.window.H)) {
      way.ahead = i;
      tk_ring_fetch<T, K>(way, p.x_row, s);
    }
    tk_async_commit();
  }
  way.ahead = K - 1;
  const tk_i64 place = (tk_i64(which * p.images + image) * p.oH + tk_imin(at, p.oH)) * p.oW;
  way.columns = live ? p.oW - (left + own) : 0;
  way.y = y + ((place + left + own) * p.epilogue.y_stride + channel);
  tk_ring_run<T, K>(c, p, way, s);
}

}  // namespace tk
