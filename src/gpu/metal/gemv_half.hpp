// Products of few rows with f16 weights for Apple's GPUs. In place of gemv of gpu/kernels/gemm.hpp,
// for the same launches: a group of 256 threads computes 32 columns. A lane takes eight of them,
// 16 bytes of a row of b, at four neighbouring positions of K, whose elements of a it reads as one.
#pragma once

namespace tk {

enum { kGemvHalfLanes = kGemvColumns / 8, kGemvHalfDeep = 256 / (kGemvColumns / 8) * 4 };

template <int ROWS>
inline void gemv_half(TK_CTX c, device const tk_half* a, device const tk_half* b,
                      device const float* bias, device const float* slope,
                      device const tk_half* residual, device float* partial, device tk_half* y,
                      constant const GemmParams& p, threadgroup tk_gemv_shared<ROWS>& s) {
  const int tid = int(c.tid.x), split = int(c.bid.z), lane = tid % kGemvHalfLanes;
  int n0 = int(c.bid.x);
  const int batch = tk_divmod(n0, p.tiles);
  const int column = n0 * kGemvColumns + lane * 8;
  const int first = split * p.split_k, end = tk_imin(first + p.split_k, p.K);
  device const tk_half* rows = a + tk_batch_offset(p, batch, p.a_batch);
  device const tk_half* columns = b + (tk_batch_offset(p, batch, p.b_batch) + column);
  const bool fours = p.a_along_k && p.a_vectors;
  tk_results<ROWS, 2, 4> sum;
  tk_clear(sum);
  for (int k0 = first + tid / kGemvHalfLanes * 4; k0 < end; k0 += kGemvHalfDeep) {
    tk_vec<4> u[ROWS], v[4][2];
    TK_UNROLL for (int m = 0; m < ROWS; ++m) {
      tk_load_strided(rows + (tk_i64(m) * p.a_m + tk_i64(k0) * p.a_k), p.a_k,
                      m < p.M ? end - k0 : 0, fours, u[m]);
    }
    TK_UNROLL for (int i = 0; i < 4; ++i) {
      TK_UNROLL for (int h = 0; h < 2; ++h) {
        const int valid = k0 + i < end ? p.N - column - h * 4 : 0;
        tk_load_some(columns + (tk_i64(k0 + i) * p.b_k + h * 4), valid, p.b_vectors != 0, v[i][h]);
      }
    }
    TK_UNROLL for (int i = 0; i < 4; ++i) {
      // Beyond the end u is zero, and v too.
      TK_UNROLL for (int m = 0; m < ROWS; ++m) {
        TK_UNROLL for (int j = 0; j < 8; ++j) {
          sum.v[m][j] = tk_fma(u[m].v[i], v[i][j / 4].v[j % 4], sum.v[m][j]);
        }
      }
    }
  }
  threadgroup float* all = (threadgroup float*)s.v;
  TK_UNROLL for (int m = 0; m < ROWS; ++m) {
    TK_UNROLL for (int h = 0; h < 2; ++h) {
      tk_vec<4> r;
      TK_UNROLL for (int j = 0; j < 4; ++j) {
        float t = sum.v[m][h * 4 + j];
        TK_UNROLL for (int step = 16; step >= kGemvHalfLanes; step /= 2) {
          t = t + simd_shuffle_xor(t, ushort(step));
        }
        r.v[j] = t;
      }
      if (c.lane < kGemvHalfLanes) {
        tk_shared_store4(all + ((int(c.warp) * ROWS + m) * kGemvColumns + lane * 8 + h * 4), r);
      }
    }
  }
  tk_gemv_finish<ROWS>(c, n0 * kGemvColumns, batch, bias, slope, residual, partial, y, p, s);
}

}  // namespace tk
