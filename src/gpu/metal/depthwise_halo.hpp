// Depthwise convolution for Apple's GPUs: a group brings what a tile of the result sees of x, its
// halo, and the weights into threadgroup memory, where each element is read by up to K x K threads.
// In place of depthwise_square and depthwise_down of gpu/kernels/depthwise.hpp, for the same
// launches (groups of 128 threads): what a group does with them is its own affair.
#pragma once

namespace tk {

// A tile: 64 bytes of channels, V a thread, by 8 columns, OWN neighbouring ones a thread, by ROWS.
enum { kHaloThreads = 128, kHaloColumns = 8, kHaloWords = 16 };

template <int K, int S, int ROWS>
struct tk_halo {
  enum { kColumns = (kHaloColumns - 1) * S + K, kRows = (ROWS - 1) * S + K };
  tk_u32x4 x[kRows * kColumns * kHaloWords / 4];
  tk_u32x4 w[K * K * kHaloWords / 4];
};
typedef tk_halo<3, 1, 4> tk_halo_3x3s1_4;
typedef tk_halo<3, 1, 8> tk_halo_3x3s1_8;
typedef tk_halo<3, 1, 16> tk_halo_3x3s1_16;
typedef tk_halo<3, 2, 4> tk_halo_3x3s2_4;
typedef tk_halo<3, 2, 8> tk_halo_3x3s2_8;
typedef tk_halo<5, 1, 4> tk_halo_5x5s1_4;
typedef tk_halo<5, 1, 8> tk_halo_5x5s1_8;
typedef tk_halo<5, 1, 16> tk_halo_5x5s1_16;
typedef tk_halo<5, 2, 2> tk_halo_5x5s2_2;
typedef tk_halo<5, 2, 4> tk_halo_5x5s2_4;
typedef tk_halo<5, 2, 8> tk_halo_5x5s2_8;

inline void tk_halo_get(threadgroup const tk_u32* p, thread tk_words<1>& r) {
  r.v[0] = *p;
}
inline void tk_halo_get(threadgroup const tk_u32* p, thread tk_words<2>& r) {
  const uint2 q = *(threadgroup const uint2*)p;
  r.v[0] = q.x;
  r.v[1] = q.y;
}
inline void tk_halo_get(threadgroup const tk_u32* p, thread tk_words<4>& r) {
  const uint4 q = *(threadgroup const uint4*)p;
  r.v[0] = q.x;
  r.v[1] = q.y;
  r.v[2] = q.z;
  r.v[3] = q.w;
}
// COUNT neighbouring pixels, or taps of a row, of V channels.
template <class T, int V, int COUNT>
inline void tk_halo_row(threadgroup const tk_u32* p, thread tk_vec<V>* r) {
  TK_UNROLL for (int i = 0; i < COUNT; ++i) {
    tk_words<tk_packed<T, V>::kWords> words;
    tk_halo_get(p + i * kHaloWords, words);
    tk_packed<T, V>::widen(words, r[i]);
  }
}
// Words of x or w from `from` on, zeros unless `there`.
template <class T, int N>
inline void tk_halo_put(device const T* from, bool there, threadgroup tk_u32* to) {
  tk_words<N> words;
  TK_UNROLL for (int i = 0; i < N; ++i) words.v[i] = 0;
  if (there) tk_load_words(from, words);
  TK_UNROLL for (int i = 0; i < N; ++i) to[i] = words.v[i];
}

template <class T, int V, int K, int S, int OWN, int ROWS>
inline void depthwise_halo(TK_CTX c, device const T* x, device const T* w, device const float* bias,
                           device const float* slope, device const T* residual, device T* y,
                           constant const DepthwiseParams& p, threadgroup tk_halo<K, S, ROWS>& s) {
  typedef tk_halo<K, S, ROWS> Halo;
  enum {
    kWords = tk_packed<T, V>::kWords,
    kParts = kHaloWords / kWords,  // threads that share a pixel
    kAcross = kHaloColumns / OWN,
    kReach = (OWN - 1) * S + K
  };
  static_assert(kParts * kAcross * ROWS == kHaloThreads, "a thread for each part of a tile");
  threadgroup tk_u32* sx = (threadgroup tk_u32*)s.x;
  threadgroup tk_u32* sw = (threadgroup tk_u32*)s.w;
  const int tid = int(c.tid.x), part = tid % kParts;
  const int column = tid / kParts % kAcross * OWN, row = tid / (kParts * kAcross);
  const int channels = int(p.channels.divisor);  // in vectors, as part
  const int slabs = (channels + kParts - 1) / kParts;
  const int across = (p.oW + kHaloColumns - 1) / kHaloColumns, down = (p.oH + ROWS - 1) / ROWS;
  const int images = p.threads / (channels * int(p.columns.divisor) * int(p.rows.divisor));
  for (int tile = int(c.bid.x); tile < slabs * across * down * images; tile += int(c.gdim.x)) {
    const int slab = tile % slabs * kParts, first_column = tile / slabs % across * kHaloColumns;
    const int first_row = tile / (slabs * across) % down * ROWS;
    const int image = tile / (slabs * across * down);
    const int top = first_row * S - p.window.pT, left = first_column * S - p.window.pL;
    const tk_i64 before = tk_i64(image) * p.window.H;
    for (int i = tid; i < Halo::kRows * Halo::kColumns * kParts; i += kHaloThreads) {
      const int v = slab + i % kParts;
      const int h = top + i / (Halo::kColumns * kParts), q = left + i / kParts % Halo::kColumns;
      const bool there =
          v < channels && tk_u32(h) < tk_u32(p.window.H) && tk_u32(q) < tk_u32(p.window.W);
      tk_halo_put<T, kWords>(x + (((before + h) * p.window.W + q) * p.window.pixel + v * V), there,
                             sx + i * kWords);
    }
    for (int i = tid; i < K * K * kParts; i += kHaloThreads) {
      const int v = slab + i % kParts;
      tk_halo_put<T, kWords>(w + (i / kParts * p.weights + v * V), v < channels, sw + i * kWords);
    }
    TK_BARRIER(c);
    const int out_row = first_row + row, out_column = first_column + column;
    if (slab + part < channels && out_row < p.oH && out_column < p.oW) {
      tk_results<OWN, 1, V> sum;
      tk_clear(sum);
      TK_UNROLL for (int r = 0; r < K; ++r) {
        // Rows outside of the image add nothing, whatever the weights.
        if (tk_u32(top + row * S + r) < tk_u32(p.window.H)) {
          tk_vec<V> in[kReach], weight[K];
          const int pixel = (row * S + r) * Halo::kColumns + column * S;
          tk_halo_row<T, V, kReach>(sx + (pixel * kHaloWords + part * kWords), in);
          tk_halo_row<T, V, K>(sw + (r * K * kHaloWords + part * kWords), weight);
          tk_add_row<V, K, S, OWN>(in, weight, sum);
        }
      }
      tk_place place;
      place.base = (tk_i64(image) * p.oH + out_row) * p.oW;
      place.row = out_column;
      place.row_gap = 0;
      place.height = p.oW;
      place.column = (slab + part) * V;
      place.column_gap = 0;
      place.width = p.weights;
      tk_finish_all<OWN>(p.epilogue, place, bias, slope, residual, y, sum);
    }
    TK_BARRIER(c);
  }
}

}  // namespace tk
