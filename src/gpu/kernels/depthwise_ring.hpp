// Depthwise convolution of many rows: warps take 32 bytes of channels of neighbouring columns each
// and go down the rows of x that these see, the next K - 1 of them on their way to shared memory.
// Beside depthwise_down, whose threads read x themselves, it reads further ahead and asks for the
// edges of x once a warp. Warps share nothing: they wait for their own lanes only.
#pragma once

#include "gpu/kernels/depthwise.hpp"

namespace tk {

// Columns of x lie in shared memory one behind the other. Threads that read at the same time are
// neighbours along the channels, then kRingPixels columns apart: an odd number, so that they read
// other banks. A row has K - 1 columns beyond those of its threads.
template <class T, int K>
struct tk_ring {
  enum {
    kChannels = int(kRingBytes) / int(sizeof(T)),
    kPairs = kChannels / 2,          // threads along the channels
    kWords = int(kRingBytes) / 4,    // a column
    kChunks = int(kRingBytes) / 16,  // a column, of 16 bytes
    kColumns = int(kRingPixels) + K - 1,
    kRow = int(kRingAcross) * int(kRingPixels) + K - 1,  // columns
    kRounds = kRow * kChunks / 32,                       // in which the lanes copy a row
    kStep = 32 / kChunks                                 // columns a round
  };
  static_assert(kPairs * int(kRingAcross) == 32 && kRounds * kStep == kRow, "all lanes have work");
};
template <class T, int K>
struct tk_ring_shared {
  tk_u32x4 rows[kRingParts * K * tk_ring<T, K>::kRow * tk_ring<T, K>::kChunks];
};
typedef tk_ring_shared<tk_half, 5> tk_ring_5_f16;

TK_FN void tk_shared_words(TK_SHARED const tk_u32* p, TK_LOCAL tk_words<1>& r) {
  r.v[0] = *p;
}

// How a row of the result is stored: bits. 0, the most frequent, is asked for first.
enum {
  kRingClip = 1,  // within bounds
  kRingSome = 2,  // not all columns
  kRingAct = 4    // element by element
};
// A way down. Row i of x is row t of the windows of row i - t of the result, whose sums are sum[t].
template <class T, int K>
struct tk_ring_way {
  float weight[K][K][2];
  float bias[2], sum[K][kRingPixels][2];
  TK_GLOBAL const T* x;    // what the lane copies of a row in the first round
  TK_SHARED tk_u32x4* to;  // of row 0 in shared memory
  tk_i32 take;             // bit q: there are such a column and channel in round q
  int from;                // its first column of row 0 in shared memory, in words
  int slot, ahead;         // of row i, and of that on its way, in units of 16 bytes
  TK_GLOBAL T* y;
  int columns;        // that it stores
  tk_i32 store;       // how
  int end;            // rows of the warp's images, of x
  int first, rows;    // of the result
  int i;              // row of x, from `first` on
  int steady, until;  // rows from `steady` on are all in the middle of an image
};
template <class T, int K>
TK_FN void tk_ring_fetch(TK_PARAM DepthwiseRingParams& p, TK_LOCAL tk_ring_way<T, K>& way) {
  typedef tk_ring<T, K> Ring;
  TK_UNROLL for (int q = 0; q < Ring::kRounds; ++q) {
    tk_async_copy16(way.to + way.ahead + q * 32, way.x + q * p.x_step, (way.take >> q & 1) != 0);
  }
  way.x += p.x_row;
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
// t of its windows adds, where `adds`. Sums begin with the bias.
template <class T, int K>
TK_FN void tk_ring_add(TK_LOCAL tk_ring_way<T, K>& way, TK_LOCAL const tk_vec<2>* in, int t,
                       bool adds) {
  TK_UNROLL for (int o = 0; o < kRingPixels; ++o) {
    TK_UNROLL for (int v = 0; v < 2; ++v) {
      way.sum[t][o][v] = t == 0 ? way.bias[v] : way.sum[t - 1][o][v];
    }
  }
  if (!adds) return;
  TK_UNROLL for (int o = 0; o < kRingPixels; ++o) {
    TK_UNROLL for (int k = 0; k < K; ++k) {
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
  if (next >= way.end) way.take = 0;
  tk_divmod(next, p.period);
  there = way.i < way.rows && tk_u32(next - p.window.pT) < tk_u32(p.window.H);
  tk_divmod(at, p.period);
  row = tk_u32(at - p.window.pT) < tk_u32(p.window.H);
  done = way.i >= K - 1;
  if (done) {
    if (last >= way.end) {
      way.columns = 0;
      way.store |= kRingSome;
    }
    tk_divmod(last, p.period);
    done = last < p.oH;
  }
  const int start = way.i - at;  // of the image
  way.steady = tk_imax(K - 1, start + tk_imax(p.window.pT, K));
  way.until =
      tk_imin(way.rows, start + tk_imin(p.window.pT + p.window.H - (K - 1), p.oH + (K - 1)));
}
// A clip comes after rounding to f16: with bounds that are rounded too that gives the same, as
// rounding keeps the order.
TK_FN void tk_ring_clip(TK_PARAM EpilogueParams& e, TK_LOCAL tk_words<1>* pairs) {
  typedef tk_packed<tk_half, 2> Pair;
  tk_vec<2> a, b;
  tk_words<1> low, high;
  tk_fill_vec(e.a, a);
  tk_fill_vec(e.b, b);
  Pair::narrow(a, low);
  Pair::narrow(b, high);
  TK_UNROLL for (int o = 0; o < kRingPixels; ++o) {
    pairs[o].v[0] = tk_clip_halves(pairs[o].v[0], low.v[0], high.v[0]);
  }
}
template <int K>
TK_FN void tk_ring_narrow(TK_LOCAL const tk_ring_way<tk_half, K>& way,
                          TK_LOCAL tk_words<1>* pairs) {
  TK_UNROLL for (int o = 0; o < kRingPixels; ++o) {
    tk_vec<2> r;
    TK_UNROLL for (int v = 0; v < 2; ++v) r.v[v] = way.sum[K - 1][o][v];
    tk_packed<tk_half, 2>::narrow(r, pairs[o]);
  }
}
TK_FN void tk_ring_put(TK_PARAM EpilogueParams& e, TK_LOCAL const tk_words<1>* pairs,
                       TK_GLOBAL tk_half* y) {
  TK_UNROLL for (int o = 0; o < kRingPixels; ++o) {
    tk_store_words(y, pairs[o]);
    y += tk_i64(e.y_stride);
  }
}
// The row that is done, without residual or slopes.
template <int K>
TK_FN void tk_ring_store(TK_PARAM DepthwiseRingParams& p, TK_LOCAL tk_ring_way<tk_half, K>& way) {
  if (way.store == 0) {
    tk_words<1> pairs[kRingPixels];
    tk_ring_narrow<K>(way, pairs);
    tk_ring_put(p.epilogue, pairs, way.y);
  } else if ((way.store & kRingAct) == 0) {
    tk_words<1> pairs[kRingPixels];
    tk_ring_narrow<K>(way, pairs);
    if ((way.store & kRingClip) != 0) tk_ring_clip(p.epilogue, pairs);
    if ((way.store & kRingSome) == 0) {
      tk_ring_put(p.epilogue, pairs, way.y);
    } else {
      TK_GLOBAL tk_half* y = way.y;
      TK_UNROLL for (int o = 0; o < kRingPixels; ++o) {
        if (o < way.columns) tk_store_words(y, pairs[o]);
        y += tk_i64(p.epilogue.y_stride);
      }
    }
  } else {
    // One copy of the long code: each turn takes the first sum, and the others move up.
    TK_NO_UNROLL for (int n = 0; n < 2 * tk_imin(way.columns, kRingPixels); ++n) {
      tk_store(way.y + (n / 2 * p.epilogue.y_stride + n % 2),
               tk_act(p.epilogue, way.sum[K - 1][0][0]));
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
  typedef tk_ring<T, K> Ring;
  way.ahead = way.slot;
  way.slot += Ring::kRow * Ring::kChunks;
  if (way.slot == K * Ring::kRow * Ring::kChunks) way.slot = 0;
  ++way.i;
}
template <class T, int K>
TK_FN void tk_ring_run(TK_CTX c, TK_PARAM DepthwiseRingParams& p, TK_LOCAL tk_ring_way<T, K>& way,
                       TK_SHARED tk_ring_shared<T, K>& s) {
  tk_vec<2> in[tk_ring<T, K>::kColumns];
  TK_NO_UNROLL while (way.i < way.rows + K - 1) {
    tk_async_wait<K - 2>();
    tk_warp_barrier(c);
    bool there, row, done;
    tk_ring_edge<T, K>(p, way, there, row, done);
    if (there) tk_ring_fetch<T, K>(p, way);
    tk_async_commit();
    if (row) tk_ring_read<T, K>((TK_SHARED const tk_u32*)s.rows + (way.from + way.slot * 4), in);
    TK_UNROLL for (int t = K - 1; t >= 0; --t) {
      tk_ring_add<T, K>(way, in, t, row && tk_u32(way.i - t) < tk_u32(way.rows));
    }
    if (done) tk_ring_store<K>(p, way);
    tk_ring_advance<T, K>(way);
    if (way.i < way.steady) continue;
    TK_NO_UNROLL while (way.i < way.until) {
      tk_async_wait<K - 2>();
      tk_warp_barrier(c);
      tk_ring_read<T, K>((TK_SHARED const tk_u32*)s.rows + (way.from + way.slot * 4), in);
      tk_ring_fetch<T, K>(p, way);
      tk_async_commit();
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
  const int lane = int(c.lane), which = int(c.warp);
  int slab = int(c.bid.y);
  const int tile = tk_divmod(slab, p.slabs);
  tk_ring_way<T, K> way;
  way.first = int(c.bid.x) * p.down;
  way.rows = tk_imin(p.down, (p.images - 1) * int(p.period.divisor) + p.oH - way.first);
  way.end = tk_imin(p.images, p.all_images - which * p.images) * int(p.period.divisor);
  way.steady = way.until = way.i = way.slot = 0;
  const int left = tile * (kRingAcross * kRingPixels), own = lane / Ring::kPairs * kRingPixels;
  const int channel = slab * Ring::kChannels + lane % Ring::kPairs * 2;
  int at = way.first;
  const int image = tk_divmod(at, p.period);

  way.to = s.rows + (which * (K * Ring::kRow * Ring::kChunks) + lane);
  way.from =
      (which * K * Ring::kRow + own) * Ring::kWords + lane % Ring::kPairs * tk_packed<T, 2>::kWords;
  tk_keep(way.from);
  const int column = left - p.window.pL + lane / Ring::kChunks;
  const int chunk = slab * Ring::kChannels + lane % Ring::kChunks * (16 / int(sizeof(T)));
  const int above = tk_imin(tk_imax(at - p.window.pT, 0), p.window.H);  // rows of x in the image
  way.x = x + ((tk_i64(which * p.images + image) * p.window.H + above) * p.x_row +
               (column * p.window.pixel + chunk));
  way.take = 0;
  TK_UNROLL for (int q = 0; q < Ring::kRounds; ++q) {
    if (way.first < way.end && chunk < p.channels &&
        tk_u32(column + q * Ring::kStep) < tk_u32(p.window.W)) {
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
    if (next >= way.end) way.take = 0;
    tk_divmod(next, p.period);
    if (tk_u32(next - p.window.pT) < tk_u32(p.window.H)) {
      way.ahead = i * (Ring::kRow * Ring::kChunks);
      tk_ring_fetch<T, K>(p, way);
    }
    tk_async_commit();
  }
  way.ahead = (K - 1) * (Ring::kRow * Ring::kChunks);
  const tk_i64 place = (tk_i64(which * p.images + image) * p.oH + tk_imin(at, p.oH)) * p.oW;
  way.columns = live ? p.oW - (left + own) : 0;
  way.store = p.epilogue.act > kActClip || p.epilogue.vectors == 0 ? kRingAct
              : p.epilogue.act == kActNone                         ? 0
                                                                   : kRingClip;
  if (way.columns < kRingPixels) way.store |= kRingSome;
  way.y = y + ((place + left + own) * p.epilogue.y_stride + channel);
  tk_ring_run<T, K>(c, p, way, s);
}

}  // namespace tk
