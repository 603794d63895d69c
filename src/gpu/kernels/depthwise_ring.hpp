// Depthwise convolution of f16 by matrix units: a group of threads goes down the rows of x, the
// next K - 1 of them on their way to shared memory. A tap is the product of 16 pixels' channels
// with a diagonal matrix of its weights; seven eighths of it are zeros, and it still takes a third
// of the time that products of single elements take (tk_multiply_diagonal).
#pragma once

#include "gpu/kernels/depthwise.hpp"

namespace tk {

// A strip is kRingPixels neighbouring columns of the result. A warp takes 16 strips, lane l the
// strips l / 4 and l / 4 + 8 of them, and of each kRingWords words of channels. In shared memory
// those columns lie side by side that threads read at the same time: the first of each strip, then
// the second of each.
template <int K>
struct tk_ring {
  enum {
    kColumns = int(kRingPixels) + K - 1,  // that a strip reads
    kSlots = int(kRingSlots),  // strips of a row in shared memory, and what is beyond them
    kChunks = int(kRingBytes) / 16,
    kRow = kSlots * int(kRingPixels) * kChunks,                   // in units of 16 bytes
    kRounds = (kRow + int(kRingThreads) - 1) / int(kRingThreads)  // in which threads copy a row
  };
};
template <int K>
struct tk_ring_shared {
  tk_u32x4 rows[K * tk_ring<K>::kRow];
};
typedef tk_ring_shared<5> tk_ring_5;

TK_FN void tk_shared_words(TK_SHARED const tk_u32* p, TK_LOCAL tk_words<1>& r) {
  r.v[0] = *p;
}
TK_FN void tk_shared_words(TK_SHARED const tk_u32* p, TK_LOCAL tk_words<2>& r) {
  const tk_u32x2 q = *(TK_SHARED const tk_u32x2*)p;
  r.v[0] = q.x;
  r.v[1] = q.y;
}

// A way down. Row i of x is row t of the windows of row i - t of the result, whose sums are sum[t].
template <int K>
struct tk_ring_way {
  tk_u32 weight[K][K][kRingWords];
  // Of a word's two channels in the one strip, then in the other.
  float bias[kRingWords][4], sum[K][kRingPixels][kRingWords][4];
  // What the thread copies of a row, 16 bytes a round.
  TK_GLOBAL const tk_half* x;
  int x_at[tk_ring<K>::kRounds];    // from x, in units of 16 bytes
  int to[tk_ring<K>::kRounds];      // in shared memory
  tk_u32 take;                      // bit q: round q has such a column and channel
  TK_SHARED const tk_u32* from[2];  // the first column of each strip in shared memory
  TK_GLOBAL const tk_half* taps;    // of its channels
  int slot, ahead;                  // of row i, and of that on its way
  TK_GLOBAL tk_half* y[2];
  int columns[2];     // that it stores
  tk_u32 last;        // bits q, kRingLast + h: round q and strip h are of the last part
  int end;            // rows of the last part, of x
  int first, rows;    // of the result
  int i;              // row of x, from `first` on
  int steady, until;  // rows from `steady` on are all in the middle of an image
};
enum { kRingLast = 16 };

template <int K>
TK_FN void tk_ring_fetch(TK_LOCAL tk_ring_way<K>& way, int row, TK_SHARED tk_ring_shared<K>& s) {
  typedef tk_ring<K> Ring;
  TK_UNROLL for (int q = 0; q < Ring::kRounds; ++q) {
    if (way.to[q] >= 0) {
      tk_async_copy16(s.rows + (way.to[q] + way.ahead * Ring::kRow),
                      way.x + tk_i64(way.x_at[q]) * 8, (way.take >> q & 1) != 0);
    }
  }
  way.x += row;
}
// Column k of strip h in the row that is in its turn.
template <int K>
TK_FN void tk_ring_read(TK_LOCAL const tk_ring_way<K>& way, int h, int k,
                        TK_LOCAL tk_words<kRingWords>& r) {
  typedef tk_ring<K> Ring;
  const int place = k % int(kRingPixels) * int(Ring::kSlots) + k / int(kRingPixels);
  tk_shared_words(way.from[h] + (way.slot * (Ring::kRow * 4) + place * (kRingWords * 4)), r);
}
// sum[t] becomes sum[t - 1], for the windows of the row before become those of this.
template <int K>
TK_FN void tk_ring_shift(TK_LOCAL tk_ring_way<K>& way, int t) {
  TK_UNROLL for (int o = 0; o < kRingPixels; ++o) {
    TK_UNROLL for (int q = 0; q < kRingWords; ++q) {
      TK_UNROLL for (int v = 0; v < 4; ++v) {
        way.sum[t][o][q][v] = t == 0 ? way.bias[q][v] : way.sum[t - 1][o][q][v];
      }
    }
  }
}
// Adds what the row adds to all its windows. A matrix product takes 0 x inf into the sums of other
// channels: rows with values that are not finite are added element by element.
template <int K>
TK_FN void tk_ring_add(TK_CTX c, TK_LOCAL tk_ring_way<K>& way, int channels) {
  typedef tk_ring<K> Ring;
  tk_words<kRingWords> in[Ring::kColumns][2];
  tk_u32 spoilt[2] = {0, 0};
  TK_UNROLL for (int k = 0; k < Ring::kColumns; ++k) {
    TK_UNROLL for (int h = 0; h < 2; ++h) {
      tk_ring_read<K>(way, h, k, in[k][h]);
      TK_UNROLL for (int q = 0; q < kRingWords; ++q) {
        spoilt[h] = tk_spoil_halves(spoilt[h], in[k][h].v[q]);
      }
    }
  }
  if (tk_warp_any(c, (spoilt[0] | spoilt[1]) != 0)) {
    TK_UNROLL for (int t = K - 1; t >= 0; --t) tk_ring_shift<K>(way, t);
    TK_NO_UNROLL for (int k = 0; k < K; ++k) {
      TK_UNROLL for (int o = 0; o < kRingPixels; ++o) {
        tk_words<kRingWords> low, high;
        tk_ring_read<K>(way, 0, k + o, low);
        tk_ring_read<K>(way, 1, k + o, high);
        TK_UNROLL for (int t = 0; t < K; ++t) {
          tk_words<kRingWords> tap;
          tk_load_words(way.taps + (t * K + k) * channels, tap);
          TK_UNROLL for (int q = 0; q < kRingWords; ++q) {
            tk_multiply_halves(low.v[q], high.v[q], tap.v[q], way.sum[t][o][q]);
          }
        }
      }
    }
    return;
  }
  TK_UNROLL for (int t = K - 1; t >= 0; --t) {
    TK_UNROLL for (int k = 0; k < K; k += 2) {
      TK_UNROLL for (int o = 0; o < kRingPixels; ++o) {
        TK_UNROLL for (int q = 0; q < kRingWords; ++q) {
          TK_LOCAL float* to = way.sum[t][o][q];
          TK_LOCAL const float* from = k > 0 ? to : t > 0 ? way.sum[t - 1][o][q] : way.bias[q];
          if (k + 1 < K) {
            tk_multiply_diagonal(in[o + k][0].v[q], in[o + k][1].v[q], way.weight[t][k][q],
                                 in[o + k + 1][0].v[q], in[o + k + 1][1].v[q],
                                 way.weight[t][k + 1][q], from, to);
          } else {
            tk_multiply_diagonal(in[o + k][0].v[q], in[o + k][1].v[q], way.weight[t][k][q], from,
                                 to);
          }
        }
      }
    }
  }
}

// Whether the next row of x on its way is one, whether row i is, and whether a row of the result is
// done, where not every window that row i is part of is within the same image.
template <int K>
TK_FN void tk_ring_edge(TK_PARAM DepthwiseRingParams& p, TK_LOCAL tk_ring_way<K>& way,
                        TK_LOCAL bool& there, TK_LOCAL bool& row, TK_LOCAL bool& done) {
  int next = way.first + way.i + (K - 1), at = way.first + way.i,
      last = way.first + way.i - (K - 1);
  if (next >= way.end) way.take &= ~way.last;
  tk_divmod(next, p.period);
  there = way.i < way.rows && tk_u32(next - p.window.pT) < tk_u32(p.window.H);
  tk_divmod(at, p.period);
  row = tk_u32(at - p.window.pT) < tk_u32(p.window.H);
  done = way.i >= K - 1;
  if (done) {
    TK_UNROLL for (int h = 0; h < 2; ++h) {
      if (last >= way.end && (way.last >> (kRingLast + h) & 1) != 0) way.columns[h] = 0;
    }
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
TK_FN void tk_ring_store(TK_PARAM DepthwiseRingParams& p, TK_LOCAL tk_ring_way<K>& way) {
  typedef tk_packed<tk_half, 2> Pair;
  if (p.epilogue.act <= kActClip && p.epilogue.vectors) {
    tk_vec<2> a, b;
    tk_words<1> low, high;
    tk_fill_vec(p.epilogue.a, a);
    tk_fill_vec(p.epilogue.b, b);
    Pair::narrow(a, low);
    Pair::narrow(b, high);
    TK_UNROLL for (int h = 0; h < 2; ++h) {
      TK_GLOBAL tk_half* y = way.y[h];
      TK_UNROLL for (int o = 0; o < kRingPixels; ++o) {
        tk_words<kRingWords> all;
        TK_UNROLL for (int q = 0; q < kRingWords; ++q) {
          tk_vec<2> r;
          TK_UNROLL for (int v = 0; v < 2; ++v) r.v[v] = way.sum[K - 1][o][q][2 * h + v];
          tk_words<1> pair;
          Pair::narrow(r, pair);
          all.v[q] = tk_clip_halves(pair.v[0], low.v[0], high.v[0]);
        }
        if (o < way.columns[h]) tk_store_words(y, all);
        y += tk_i64(p.epilogue.y_stride);
      }
    }
  } else {
    // One copy of the long code: each turn takes the first sum, and the others move up.
    enum { kEach = 4 * int(kRingWords) };  // of a column of both strips
    TK_NO_UNROLL for (int n = 0; n < kEach * int(kRingPixels); ++n) {
      const int o = n / kEach;
      const bool high = n / 2 % 2 != 0;
      if (o < (high ? way.columns[1] : way.columns[0])) {
        tk_store(
            (high ? way.y[1] : way.y[0]) + (o * p.epilogue.y_stride + n % kEach / 4 * 2 + n % 2),
            tk_act(p.epilogue, way.sum[K - 1][0][0][0]));
      }
      TK_UNROLL for (int v = 0; v + 1 < kEach * int(kRingPixels); ++v) {
        const int w = v + 1;
        way.sum[K - 1][v / kEach][v % kEach / 4][v % 4] =
            way.sum[K - 1][w / kEach][w % kEach / 4][w % 4];
      }
    }
  }
  TK_UNROLL for (int h = 0; h < 2; ++h) way.y[h] += p.y_row;
}
template <int K>
TK_FN void tk_ring_advance(TK_LOCAL tk_ring_way<K>& way) {
  way.ahead = way.slot;
  way.slot = way.slot == K - 1 ? 0 : way.slot + 1;
  ++way.i;
}
template <int K>
TK_FN void tk_ring_run(TK_CTX c, TK_PARAM DepthwiseRingParams& p, TK_LOCAL tk_ring_way<K>& way,
                       TK_SHARED tk_ring_shared<K>& s) {
  TK_NO_UNROLL while (way.i < way.rows + K - 1) {
    tk_async_wait<K - 2>();
    TK_BARRIER(c);
    bool there, row, done;
    tk_ring_edge<K>(p, way, there, row, done);
    if (there) tk_ring_fetch<K>(way, p.x_row, s);
    tk_async_commit();
    if (row) {
      tk_ring_add<K>(c, way, p.channels);
    } else {
      TK_UNROLL for (int t = K - 1; t >= 0; --t) tk_ring_shift<K>(way, t);
    }
    if (done) tk_ring_store<K>(p, way);
    tk_ring_advance<K>(way);
    if (way.i < way.steady) continue;
    TK_NO_UNROLL while (way.i < way.until) {
      tk_async_wait<K - 2>();
      TK_BARRIER(c);
      tk_ring_fetch<K>(way, p.x_row, s);
      tk_async_commit();
      tk_ring_add<K>(c, way, p.channels);
      tk_ring_store<K>(p, way);
      tk_ring_advance<K>(way);
    }
  }
}

// What the threads of a group copy: the columns of one part after those of another.
template <int K>
TK_FN void tk_ring_copies(TK_PARAM DepthwiseRingParams& p, int tid, int slab, int left,
                          TK_LOCAL tk_ring_way<K>& way) {
  typedef tk_ring<K> Ring;
  TK_UNROLL for (int q = 0; q < Ring::kRounds; ++q) {
    int column = tid + q * int(kRingThreads);
    const int which = tk_divmod(column, p.copies);
    const int chunk = column % Ring::kChunks;
    column /= Ring::kChunks;
    const int from = left - p.window.pL + column, slice = slab * Ring::kChunks + chunk;
    const int place = (chunk / int(kRingWords) * int(kRingPixels) + column % int(kRingPixels)) *
                          int(Ring::kSlots) +
                      which * p.slots + column / kRingPixels;
    way.x_at[q] =
        which * p.images * p.window.H * (p.x_row / 8) + from * (p.window.pixel / 8) + slice;
    way.to[q] = which < p.parts ? place * kRingWords + chunk % kRingWords : -1;
    if (which < p.parts && slice * 8 < p.channels && tk_u32(from) < tk_u32(p.window.W)) {
      way.take |= 1u << q;
    }
    if (which + 1 == p.parts) way.last |= 1u << q;
  }
}
// The strips of a thread, their channels and weights.
template <int K>
TK_FN void tk_ring_strips(TK_CTX c, TK_PARAM DepthwiseRingParams& p, TK_GLOBAL const tk_half* w,
                          TK_GLOBAL const float* bias, TK_GLOBAL tk_half* y, int slab, int left,
                          TK_LOCAL tk_ring_way<K>& way, TK_SHARED tk_ring_shared<K>& s) {
  typedef tk_ring<K> Ring;
  const int across = int(Ring::kChunks) / int(kRingWords);  // warps that share strips
  const int warp = int(c.warp), lane = int(c.lane), side = warp % across;
  const int channel =
      slab * (Ring::kChunks * 8) + side * (kRingWords * 8) + lane % 4 * (kRingWords * 2);
  const bool live = channel < p.channels;
  int at = way.first;
  const int image = tk_divmod(at, p.period);
  TK_UNROLL for (int h = 0; h < 2; ++h) {
    int strip = warp / across * 16 + h * 8 + lane / 4;
    int which = tk_divmod(strip, p.strips);
    const int columns = p.oW - (left + strip * kRingPixels);
    way.columns[h] = live && which < p.parts ? tk_imin(columns, kRingPixels) : 0;
    if (which + 1 == p.parts) way.last |= 1u << (kRingLast + h);
    if (which >= p.parts) which = 0;  // it reads what there is, and stores nothing
    const int place = side * (int(kRingPixels) * int(Ring::kSlots)) + which * p.slots + strip;
    way.from[h] = (TK_SHARED const tk_u32*)s.rows + (place * 4 + lane % 4) * kRingWords;
    const tk_i64 row = tk_i64(which * p.images + image) * p.oH + tk_imin(at, p.oH);
    way.y[h] = y + ((row * p.oW + left + strip * kRingPixels) * p.epilogue.y_stride + channel);
  }
  way.taps = w + (live ? channel : 0);
  TK_UNROLL for (int r = 0; r < K; ++r) {
    TK_UNROLL for (int k = 0; k < K; ++k) {
      tk_words<kRingWords> tap;
      tk_load_words(way.taps + (r * K + k) * p.channels, tap);
      TK_UNROLL for (int q = 0; q < kRingWords; ++q) {
        way.weight[r][k][q] = tk_diagonal(c, tap.v[q]);
      }
    }
  }
  TK_UNROLL for (int q = 0; q < kRingWords; ++q) {
    TK_UNROLL for (int v = 0; v < 4; ++v) {
      way.bias[q][v] = p.epilogue.bias && live ? tk_load(bias + channel + q * 2 + v % 2) : 0.0f;
    }
  }
}

// Kernels of K x K without dilation, stride 1, multiplier 1; pixels of x begin at 16 bytes; neither
// slopes nor a residual.
template <int K>
TK_FN void depthwise_ring(TK_CTX c, TK_GLOBAL const tk_half* x, TK_GLOBAL const tk_half* w,
                          TK_GLOBAL const float* bias, TK_GLOBAL tk_half* y,
                          TK_PARAM DepthwiseRingParams& p, TK_SHARED tk_ring_shared<K>& s) {
  int slab = int(c.bid.y);
  const int tile = tk_divmod(slab, p.slabs);
  const int left = tile * int(p.strips.divisor) * kRingPixels;
  tk_ring_way<K> way;
  way.first = int(c.bid.x) * p.down;
  way.rows = tk_imin(p.down, (p.images - 1) * int(p.period.divisor) + p.oH - way.first);
  way.end = (p.all_images - (p.parts - 1) * p.images) * int(p.period.divisor);
  way.steady = way.until = way.i = way.slot = 0;
  way.take = way.last = 0;
  int at = way.first;
  const int image = tk_divmod(at, p.period);
  const int above = tk_imin(tk_imax(at - p.window.pT, 0), p.window.H);  // rows of x in the image
  way.x = x + (tk_i64(image) * p.window.H + above) * p.x_row;
  tk_ring_copies<K>(p, int(c.tid.x), slab, left, way);
  tk_ring_strips<K>(c, p, w, bias, y, slab, left, way, s);
  TK_UNROLL for (int t = 0; t < K; ++t) tk_ring_shift<K>(way, t);
  TK_UNROLL for (int i = 0; i < K - 1; ++i) {
    int next = way.first + i;
    if (next >= way.end) way.take &= ~way.last;
    tk_divmod(next, p.period);
    if (tk_u32(next - p.window.pT) < tk_u32(p.window.H)) {
      way.ahead = i;
      tk_ring_fetch<K>(way, p.x_row, s);
    }
    tk_async_commit();
  }
  way.ahead = K - 1;
  tk_ring_run<K>(c, p, way, s);
}

}  // namespace tk
