// Matrix products by tiles: a group computes BM x BN results, BK positions of K at a time, from two
// stages in shared memory; while it works on one, the next is read into registers.
#pragma once

#include "gpu/dialect/dialect.hpp"
#include "gpu/kernels/conv_epilogue.hpp"

namespace tk {

// TM x TN results a thread. The lanes of a warp form a block of up to 8 columns of threads, so that
// each of their reads of shared memory is of neighbouring fours.
template <int BM, int BN, int BK, int TM, int TN>
struct tk_tile {
  enum {
    kM = BM,
    kN = BN,
    kK = BK,
    kRows = TM,
    kGroups = TN / 4,
    kAcross = BN / TN,
    kThreads = BM / TM * (BN / TN),
    kLanesAcross = BN / TN < 8 ? BN / TN : 8,
    kLanesDown = 32 / (BN / TN < 8 ? BN / TN : 8),
    kWarpsAcross = BN / TN < 8 ? 1 : BN / TN / 8,
    kRowGap = BM / (TM / 4),
    kColumnGap = BN / (TN / 4),
    kStrideA = BM + 4,  // of the rows of K in shared memory
    kStrideB = BN + 4,
    kLoadsA = BM * BK / 4 / (BM / TM * (BN / TN)),  // of fours, a thread
    kLoadsB = (BN * BK / 4 + BM / TM * (BN / TN) - 1) / (BM / TM * (BN / TN)),
    kThreadsB = BN * BK / 4 < BM / TM * (BN / TN) ? BN * BK / 4 : BM / TM * (BN / TN),
    kSharedA = BK * (BM + 4),
    kSharedB = BK * (BN + 4)
  };
};
typedef tk_tile<128, 128, 8, 8, 8> tk_tile_128x128;
typedef tk_tile<128, 64, 8, 8, 8> tk_tile_128x64;
typedef tk_tile<64, 64, 16, 8, 4> tk_tile_64x64;
typedef tk_tile<64, 64, 16, 4, 4> tk_tile_64x64w;  // twice the threads
typedef tk_tile<32, 64, 16, 4, 4> tk_tile_32x64;
typedef tk_tile<32, 32, 32, 4, 4> tk_tile_32x32;
typedef tk_tile<128, 32, 16, 8, 4> tk_tile_128x32;
typedef tk_tile<128, 16, 16, 4, 4> tk_tile_128x16;

template <class S>
struct tk_tile_shared {
  tk_u32x4 a[2 * S::kSharedA / 4], b[2 * S::kSharedB / 4];
};
typedef tk_tile_shared<tk_tile_128x128> tk_shared_128x128;
typedef tk_tile_shared<tk_tile_128x64> tk_shared_128x64;
typedef tk_tile_shared<tk_tile_64x64> tk_shared_64x64;
typedef tk_tile_shared<tk_tile_64x64w> tk_shared_64x64w;
typedef tk_tile_shared<tk_tile_32x64> tk_shared_32x64;
typedef tk_tile_shared<tk_tile_32x32> tk_shared_32x32;
typedef tk_tile_shared<tk_tile_128x32> tk_shared_128x32;
typedef tk_tile_shared<tk_tile_128x16> tk_shared_128x16;

// The first row and column of the results of a thread, within the tile.
template <class S>
TK_FN int tk_tile_row(int tid) {
  const int lane = tid & 31, warp = tid >> 5;
  return (warp / S::kWarpsAcross * S::kLanesDown + lane / S::kLanesAcross) * 4;
}
template <class S>
TK_FN int tk_tile_column(int tid) {
  const int lane = tid & 31, warp = tid >> 5;
  return (warp % S::kWarpsAcross * S::kLanesAcross + lane % S::kLanesAcross) * 4;
}

// Up to four elements `stride` apart.
template <class T>
TK_FN void tk_load_strided(TK_GLOBAL const T* p, int stride, int valid, bool vectors,
                           TK_LOCAL tk_vec<4>& r) {
  tk_fill_vec(0.0f, r);
  if (vectors) {
    if (valid > 0) tk_load_vec(p, r);
  } else {
    TK_UNROLL for (int i = 0; i < 4; ++i) {
      if (i < valid) r.v[i] = tk_load(p + tk_i64(i) * stride);
    }
  }
}

// Fours that run along K, stored across the rows of shared memory; and those that do not.
TK_FN void tk_store_across(TK_SHARED float* s, int stride, int k, int at,
                           TK_LOCAL const tk_vec<4>& r) {
  TK_UNROLL for (int j = 0; j < 4; ++j) s[(k + j) * stride + at] = r.v[j];
}
TK_FN void tk_store_along(TK_SHARED float* s, int stride, int k, int at,
                          TK_LOCAL const tk_vec<4>& r) {
  tk_shared_store4(s + k * stride + at, r);
}

#ifndef TK_OWN_KERNELS

template <class S>
TK_FN void tk_tile_multiply(TK_SHARED const float* a, TK_SHARED const float* b,
                            TK_LOCAL tk_results<S::kRows, S::kGroups, 4>& sum) {
  TK_UNROLL for (int k = 0; k < S::kK; ++k) {
    float u[S::kRows], v[S::kGroups * 4];
    TK_UNROLL for (int i = 0; i < S::kRows / 4; ++i) {
      tk_vec<4> r;
      tk_shared_load4(a + k * S::kStrideA + i * S::kRowGap, r);
      TK_UNROLL for (int j = 0; j < 4; ++j) u[i * 4 + j] = r.v[j];
    }
    TK_UNROLL for (int i = 0; i < S::kGroups; ++i) {
      tk_vec<4> r;
      tk_shared_load4(b + k * S::kStrideB + i * S::kColumnGap, r);
      TK_UNROLL for (int j = 0; j < 4; ++j) v[i * 4 + j] = r.v[j];
    }
    TK_UNROLL for (int i = 0; i < S::kRows; ++i) {
      TK_UNROLL for (int j = 0; j < S::kGroups * 4; ++j) {
        sum.v[i][j] = tk_fma(u[i], v[j], sum.v[i][j]);
      }
    }
  }
}

// Sums over [first, end) of K, a multiple of S::kK apart. L, the operands, has
//   State                      what a thread knows of the fours that it reads
//   load(a, b, p, state, next_a, next_b)   of the stage that `state` is at
//   store(thread, p, next_a, next_b, sa, sb)
//   advance(p, state)          to the next stage
template <class S, class L, class T, class P>
TK_FN void tk_tile_sum(TK_CTX c, TK_GLOBAL const T* a, TK_GLOBAL const T* b, TK_PARAM P& p,
                       TK_SHARED tk_tile_shared<S>& s, int first, int end,
                       TK_LOCAL typename L::State& state,
                       TK_LOCAL tk_results<S::kRows, S::kGroups, 4>& sum) {
  const int tid = int(c.tid.x);
  TK_SHARED float* sa = (TK_SHARED float*)s.a;
  TK_SHARED float* sb = (TK_SHARED float*)s.b;
  TK_SHARED const float* ra = sa + tk_tile_row<S>(tid);
  TK_SHARED const float* rb = sb + tk_tile_column<S>(tid);
  tk_vec<4> na[S::kLoadsA], nb[S::kLoadsB];
  tk_clear(sum);
  L::load(a, b, p, state, na, nb);
  L::store(tid, p, na, nb, sa, sb);
  TK_BARRIER(c);
  int stage = 0;
  for (int k = first; k < end; k += S::kK) {
    const bool more = k + S::kK < end;
    if (more) {
      L::advance(p, state);
      L::load(a, b, p, state, na, nb);
    }
    tk_tile_multiply<S>(ra + stage * S::kSharedA, rb + stage * S::kSharedB, sum);
    stage ^= 1;
    if (more) L::store(tid, p, na, nb, sa + stage * S::kSharedA, sb + stage * S::kSharedB);
    TK_BARRIER(c);
  }
}

#endif

}  // namespace tk

#ifdef TK_OWN_KERNELS
#include "gpu/metal/tile_simdgroup.hpp"
#endif
