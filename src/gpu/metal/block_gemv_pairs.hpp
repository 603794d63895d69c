// Products of few rows with 4-bit weights in blocks for Apple's GPUs. In place of block_gemv of
// gpu/kernels/block.hpp, for the same launches. Numbers become halves two at a time, which these
// GPUs do at once and widen for nothing: put into the mantissa of 1024 or, four bits further up, of
// 64, so that a shift serves four numbers. What is subtracted is exact.
#pragma once

namespace tk {

// Numbers i and i + 4 of a word, less `zero`, for i of 0 to 3.
inline void tk_block_pairs(tk_u32 word, float zero, thread float* v) {
  const half2 high = half2(half(1024.0f + zero)), low = half2(half(64.0f + zero));
  TK_UNROLL for (int i = 0; i < 4; i += 2) {
    const tk_u32 w = i == 0 ? word : word >> 8;
    const half2 even = as_type<half2>((w & 0x000f000fu) | 0x64006400u) - high;
    const half2 odd = as_type<half2>((w & 0x00f000f0u) | 0x54005400u) - low;
    v[i] = float(even.x);
    v[i + 4] = float(even.y);
    v[i + 1] = float(odd.x);
    v[i + 5] = float(odd.y);
  }
}

template <class T, int ROWS>
inline void block_gemv_pairs(TK_CTX c, device const T* a, device const tk_u32* packed,
                             device const float* bias, device const float* slope,
                             device const T* residual, device float* partial, device T* y,
                             constant const BlockGemvParams& p,
                             threadgroup tk_gemv_shared<ROWS>& s) {
  const int tid = int(c.tid.x), split = int(c.bid.z), n0 = int(c.bid.x) * kGemvColumns;
  const int column = n0 + tid % 8 * 4, steps = p.gemm.split_k / 8;
  const int first = split * steps, end = tk_imin(first + steps, p.blocks.words);
  tk_results<ROWS, 1, 4> sum;
  tk_clear(sum);
  for (int word = first + tid / 8; word < end && column < p.blocks.stride; word += kGemvSlices) {
    tk_block_words b;
    tk_load_block<4>(packed, p.blocks, word, column, true, b);
    tk_vec<4> u[ROWS][2];
    TK_UNROLL for (int m = 0; m < ROWS; ++m) {
      TK_UNROLL for (int h = 0; h < 2; ++h) {
        const int k = word * 8 + h * 4;
        tk_load_some(a + (tk_i64(m) * p.gemm.a_m + k), m < p.gemm.M ? p.gemm.K - k : 0,
                     p.gemm.a_vectors != 0, u[m][h]);
      }
    }
    TK_UNROLL for (int j = 0; j < 4; ++j) {
      float v[8];
      tk_block_pairs(b.words[j], b.zeros[j] - tk_mantissa(0), v);
      TK_UNROLL for (int m = 0; m < ROWS; ++m) {
        float part = 0.0f;
        TK_UNROLL for (int i = 0; i < 8; ++i) part = tk_fma(u[m][i / 4].v[i % 4], v[i], part);
        sum.v[m][j] = tk_fma(b.scales[j], part, sum.v[m][j]);
      }
    }
  }
  tk_gemv_share<ROWS>(c, sum, s);
  tk_gemv_finish<ROWS>(c, n0, 0, bias, slope, residual, partial, y, p.gemm, s);
}

}  // namespace tk
