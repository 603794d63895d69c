// Batched matrix products with any strides by tiles, and products with few rows.
#pragma once

#include "gpu/kernels/tile.hpp"

namespace tk {

// Threads take fours along the axis that `along` names; the passes of a stage advance on the other.
template <class T, class S>
struct tk_gemm_operands {
  enum {
    kDownA = S::kThreads / (S::kK / 4),   // rows of M a pass, with fours along K
    kDeepA = S::kThreads / (S::kM / 4),   // positions of K a pass, with fours along M
    kDownB = S::kThreadsB / (S::kK / 4),  // columns of N a pass, with fours along K
    kDeepB = S::kThreadsB / (S::kN / 4)
  };
  struct State {
    int am, ak, bn, bk;  // of the first four
    tk_i64 a, b;         // elements from the operands' beginnings
    int end;             // of K
  };
  static TK_FN void start(TK_CTX c, TK_PARAM GemmParams& p, int m0, int n0, int batch, int first,
                          TK_LOCAL State& t) {
    const int tid = int(c.tid.x);
    int inner = batch;
    const int outer = tk_divmod(inner, p.batches);
    t.am = p.a_along_k ? tid / (S::kK / 4) : tid % (S::kM / 4) * 4;
    t.ak = p.a_along_k ? tid % (S::kK / 4) * 4 : tid / (S::kM / 4);
    t.bn = p.b_along_n ? tid % (S::kN / 4) * 4 : tid / (S::kK / 4);
    t.bk = p.b_along_n ? tid / (S::kN / 4) : tid % (S::kK / 4) * 4;
    t.am += m0;
    t.ak += first;
    t.bn += n0;
    t.bk += first;
    t.a = outer * p.a_batch[0] + inner * p.a_batch[1] + tk_i64(t.am) * p.a_m + tk_i64(t.ak) * p.a_k;
    t.b = outer * p.b_batch[0] + inner * p.b_batch[1] + tk_i64(t.bk) * p.b_k + tk_i64(t.bn) * p.b_n;
  }
  static TK_FN void load(TK_GLOBAL const T* a, TK_GLOBAL const T* b, TK_PARAM GemmParams& p,
                         TK_LOCAL const State& t, TK_LOCAL tk_vec<4>* na, TK_LOCAL tk_vec<4>* nb) {
    TK_UNROLL for (int i = 0; i < S::kLoadsA; ++i) {
      const int m = t.am + (p.a_along_k ? i * kDownA : 0);
      const int k = t.ak + (p.a_along_k ? 0 : i * kDeepA);
      const int left = p.a_along_k ? p.K - k : p.M - m;
      const tk_i64 step = p.a_along_k ? tk_i64(kDownA) * p.a_m : tk_i64(kDeepA) * p.a_k;
      tk_load_strided(a + (t.a + i * step), p.a_along_k ? p.a_k : p.a_m,
                      m < p.M && k < p.K ? left : 0, p.a_vectors != 0, na[i]);
    }
    TK_UNROLL for (int i = 0; i < S::kLoadsB; ++i) {
      const int n = t.bn + (p.b_along_n ? 0 : i * kDownB);
      const int k = t.bk + (p.b_along_n ? i * kDeepB : 0);
      const int left = p.b_along_n ? p.N - n : p.K - k;
      const tk_i64 step = p.b_along_n ? tk_i64(kDeepB) * p.b_k : tk_i64(kDownB) * p.b_n;
      tk_load_strided(b + (t.b + i * step), p.b_along_n ? p.b_n : p.b_k,
                      n < p.N && k < p.K ? left : 0, p.b_vectors != 0, nb[i]);
    }
  }
  static TK_FN void store(int tid, TK_PARAM GemmParams& p, TK_LOCAL const tk_vec<4>* na,
                          TK_LOCAL const tk_vec<4>* nb, TK_SHARED float* sa, TK_SHARED float* sb) {
    TK_UNROLL for (int i = 0; i < S::kLoadsA; ++i) {
      if (p.a_along_k) {
        tk_store_across(sa, S::kStrideA, tid % (S::kK / 4) * 4, tid / (S::kK / 4) + i * kDownA,
                        na[i]);
      } else {
        tk_store_along(sa, S::kStrideA, tid / (S::kM / 4) + i * kDeepA, tid % (S::kM / 4) * 4,
                       na[i]);
      }
    }
    TK_UNROLL for (int i = 0; i < S::kLoadsB; ++i) {
      if (p.b_along_n) {
        tk_store_along(sb, S::kStrideB, tid / (S::kN / 4) + i * kDeepB, tid % (S::kN / 4) * 4,
                       nb[i]);
      } else {
        tk_store_across(sb, S::kStrideB, tid % (S::kK / 4) * 4, tid / (S::kK / 4) + i * kDownB,
                        nb[i]);
      }
    }
  }
  static TK_FN void advance(TK_PARAM GemmParams& p, TK_LOCAL State& t) {
    t.ak += S::kK;
    t.bk += S::kK;
    t.a += tk_i64(S::kK) * p.a_k;
    t.b += tk_i64(S::kK) * p.b_k;
  }
};

TK_FN tk_i64 tk_batch_offset(TK_PARAM GemmParams& p, int batch, TK_PARAM tk_i64* strides) {
  int inner = batch;
  const int outer = tk_divmod(inner, p.batches);
  return outer * strides[0] + inner * strides[1];
}

// Ends what a group has of a product: its part of K, or results. `at` says which rows and columns.
template <int RUN, int ROWS, int GROUPS, class T>
TK_FN void tk_finish_gemm(TK_PARAM GemmParams& p, int batch, int split, TK_GLOBAL const float* bias,
                          TK_GLOBAL const float* slope, TK_GLOBAL const T* residual,
                          TK_GLOBAL float* partial, TK_GLOBAL T* y, TK_LOCAL tk_place& at,
                          TK_LOCAL const tk_results<ROWS, GROUPS, 4>& sum) {
  at.base = 0;
  at.height = p.M;
  at.width = p.N;
  if (p.splits > 1) {
    at.base = (tk_i64(split) * p.batch + batch) * p.M;
    tk_store_partial<RUN>(partial, at, p.N, p.N % 4 == 0, sum);
  } else {
    tk_finish_all<RUN>(p.epilogue, at, bias, slope,
                       residual + tk_batch_offset(p, batch, p.residual_batch),
                       y + tk_batch_offset(p, batch, p.y_batch), sum);
  }
}

// Groups x: batches, tiles of M and, neighbouring, of N; z: splits of K, for which `partial` gets
// [splits, batch M, N] floats.
template <class T, class S>
TK_FN void gemm(TK_CTX c, TK_GLOBAL const T* a, TK_GLOBAL const T* b, TK_GLOBAL const float* bias,
                TK_GLOBAL const float* slope, TK_GLOBAL const T* residual, TK_GLOBAL float* partial,
                TK_GLOBAL T* y, TK_PARAM GemmParams& p, TK_SHARED tk_tile_shared<S>& s) {
  int n0 = int(c.bid.x);
  int m0 = tk_divmod(n0, p.tiles);
  const int batch = tk_divmod(m0, p.rows), split = int(c.bid.z);
  m0 *= S::kM;
  n0 *= S::kN;
  const int first = split * p.split_k;
  typename tk_gemm_operands<T, S>::State state;
  tk_gemm_operands<T, S>::start(c, p, m0, n0, batch, first, state);
  tk_results<S::kRows, S::kGroups, 4> sum;
  tk_tile_sum<S, tk_gemm_operands<T, S> >(c, a, b, p, s, first, tk_imin(first + p.split_k, p.K),
                                          state, sum);

  const int tid = int(c.tid.x);
  tk_place at;
  at.row = m0 + tk_tile_row<S>(tid);
  at.row_gap = S::kRowGap;
  at.column = n0 + tk_tile_column<S>(tid);
  at.column_gap = S::kColumnGap;
  tk_finish_gemm<4>(p, batch, split, bias, slope, residual, partial, y, at, sum);
}

enum { kGemvSlices = 32, kGemvUnroll = 4 };

template <int ROWS>
struct tk_gemv_shared {
  tk_u32x4 v[8 * ROWS * kGemvColumns / 4];
};
typedef tk_gemv_shared<1> tk_gemv_shared_1;
typedef tk_gemv_shared<4> tk_gemv_shared_4;
typedef tk_gemv_shared<8> tk_gemv_shared_8;

// Adds what the warps of a group have in shared memory, [8 warps, ROWS, columns], and ends rows of
// 32 columns from n0 on.
template <int ROWS, class T>
TK_FN void tk_gemv_finish(TK_CTX c, int n0, int batch, TK_GLOBAL const float* bias,
                          TK_GLOBAL const float* slope, TK_GLOBAL const T* residual,
                          TK_GLOBAL float* partial, TK_GLOBAL T* y, TK_PARAM GemmParams& p,
                          TK_SHARED tk_gemv_shared<ROWS>& s) {
  const int tid = int(c.tid.x);
  TK_SHARED const float* all = (TK_SHARED const float*)s.v;
  TK_BARRIER(c);
  if (tid < ROWS * 8) {
    const int m = tid / 8;
    tk_results<1, 1, 4> total;
    tk_clear(total);
    TK_UNROLL for (int warp = 0; warp < 8; ++warp) {
      tk_vec<4> r;
      tk_shared_load4(all + ((warp * ROWS + m) * kGemvColumns + tid % 8 * 4), r);
      TK_UNROLL for (int j = 0; j < 4; ++j) total.v[0][j] += r.v[j];
    }
    tk_place at;
    at.row = m;
    at.row_gap = 0;
    at.column = n0 + tid % 8 * 4;
    at.column_gap = 0;
    tk_finish_gemm<1>(p, batch, int(c.bid.z), bias, slope, residual, partial, y, at, total);
  }
}

// Puts a thread's sums, of four columns at one of 32 slices of K, with those of its warp into
// shared memory, where tk_gemv_finish() reads them.
template <int ROWS>
TK_FN void tk_gemv_share(TK_CTX c, TK_LOCAL const tk_results<ROWS, 1, 4>& sum,
                         TK_SHARED tk_gemv_shared<ROWS>& s) {
  TK_SHARED float* all = (TK_SHARED float*)s.v;  // [8 warps, ROWS, columns]
  TK_UNROLL for (int m = 0; m < ROWS; ++m) {
    tk_vec<4> r;
    TK_UNROLL for (int j = 0; j < 4; ++j) {
      float v = sum.v[m][j];
      v = v + tk_warp_xor(c, v, 16);
      r.v[j] = v + tk_warp_xor(c, v, 8);
    }
    if (c.lane < 8) {
      tk_shared_store4(all + ((int(c.warp) * ROWS + m) * kGemvColumns + int(c.tid.x) % 8 * 4), r);
    }
  }
}

// Up to ROWS rows; b_n is 1. A group of 256 threads computes 32 columns: 8 lanes with four columns
// each, times 32 slices of K, of which each takes every 32nd position. Groups x: batches and,
// neighbouring, columns; z: splits of K.
template <class T, int ROWS>
TK_FN void gemv(TK_CTX c, TK_GLOBAL const T* a, TK_GLOBAL const T* b, TK_GLOBAL const float* bias,
                TK_GLOBAL const float* slope, TK_GLOBAL const T* residual, TK_GLOBAL float* partial,
                TK_GLOBAL T* y, TK_PARAM GemmParams& p, TK_SHARED tk_gemv_shared<ROWS>& s) {
  const int tid = int(c.tid.x), split = int(c.bid.z);
  int n0 = int(c.bid.x);
  const int batch = tk_divmod(n0, p.tiles);
  n0 *= kGemvColumns;
  const int column = n0 + tid % 8 * 4, slice = tid / 8;
  const int first = split * p.split_k, end = tk_imin(first + p.split_k, p.K);
  TK_GLOBAL const T* rows = a + tk_batch_offset(p, batch, p.a_batch);
  TK_GLOBAL const T* columns = b + (tk_batch_offset(p, batch, p.b_batch) + column);
  tk_results<ROWS, 1, 4> sum;
  tk_clear(sum);
  for (int k0 = first + slice; k0 < end; k0 += kGemvSlices * kGemvUnroll) {
    tk_vec<4> w[kGemvUnroll];
    float u[kGemvUnroll][ROWS];
    TK_UNROLL for (int i = 0; i < kGemvUnroll; ++i) {
      const int k = k0 + i * kGemvSlices;
      tk_load_some(columns + tk_i64(k) * p.b_k, k < end ? p.N - column : 0, p.b_vectors != 0, w[i]);
      TK_UNROLL for (int m = 0; m < ROWS; ++m) {
        u[i][m] = 0.0f;
        if (k < end && m < p.M) u[i][m] = tk_load(rows + (tk_i64(m) * p.a_m + tk_i64(k) * p.a_k));
      }
    }
    TK_UNROLL for (int i = 0; i < kGemvUnroll; ++i) {
      if (k0 + i * kGemvSlices < end) {
        TK_UNROLL for (int m = 0; m < ROWS; ++m) {
          TK_UNROLL for (int j = 0; j < 4; ++j) {
            sum.v[m][j] = tk_fma(u[i][m], w[i].v[j], sum.v[m][j]);
          }
        }
      }
    }
  }
  tk_gemv_share<ROWS>(c, sum, s);
  tk_gemv_finish<ROWS>(c, n0, batch, bias, slope, residual, partial, y, p, s);
}

}  // namespace tk

#ifdef TK_OWN_KERNELS
#include "gpu/metal/gemv_half.hpp"
#endif
