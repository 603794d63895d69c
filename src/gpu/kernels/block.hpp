// Products with weights in blocks: of few rows straight from them, and their dequantisation.
#pragma once

#include "gpu/kernels/block_params.hpp"
#include "gpu/kernels/gemm.hpp"

namespace tk {

// One word of each of four columns, with their scales and what a number is read as when it is zero.
struct tk_block_words {
  tk_u32 words[4];
  float scales[4], zeros[4];
};

// As the mantissa of 2^23, which makes a float of an integer without a conversion.
TK_FN float tk_mantissa(tk_u32 number) {
  return tk_float(0x4b000000u | number);
}

// `inside`: there are such a word and such columns; otherwise every weight is zero.
template <int BITS>
TK_FN void tk_load_block(TK_GLOBAL const tk_u32* packed, TK_PARAM BlockParams& p, int word,
                         int column, bool inside, TK_LOCAL tk_block_words& r) {
  TK_UNROLL for (int j = 0; j < 4; ++j) {
    r.words[j] = 0;
    r.scales[j] = 0.0f;
    r.zeros[j] = tk_mantissa(1u << (BITS - 1));
  }
  if (!inside) return;
  tk_words<4> w;
  tk_vec<4> scales;
  tk_load_words(packed + (tk_i64(word) * p.stride + column), w);
  const tk_i64 at = tk_i64(word >> p.block_shift) * p.stride + column;
  tk_load_vec((TK_GLOBAL const float*)(packed + p.scales_at) + at, scales);
  TK_UNROLL for (int j = 0; j < 4; ++j) {
    r.words[j] = w.v[j];
    r.scales[j] = scales.v[j];
  }
  if (p.zeros) {
    const tk_u32 bytes = packed[p.zeros_at + at / 4];
    TK_UNROLL for (int j = 0; j < 4; ++j) r.zeros[j] = tk_mantissa(bytes >> (8 * j) & 255u);
  }
}

// Number i of column j, less its zero point.
template <int BITS>
TK_FN float tk_block_number(TK_LOCAL const tk_block_words& b, int j, int i) {
  return tk_mantissa(b.words[j] >> (BITS * i) & ((1u << BITS) - 1u)) - b.zeros[j];
}

// Up to ROWS rows of K neighbours. Groups as gemv has them, of 32 columns: a thread takes four of
// them at every 32nd word. The numbers of a word are summed before they are scaled.
template <class T, int BITS, int ROWS>
TK_FN void block_gemv(TK_CTX c, TK_GLOBAL const T* a, TK_GLOBAL const tk_u32* packed,
                      TK_GLOBAL const float* bias, TK_GLOBAL const float* slope,
                      TK_GLOBAL const T* residual, TK_GLOBAL float* partial, TK_GLOBAL T* y,
                      TK_PARAM BlockGemvParams& p, TK_SHARED tk_gemv_shared<ROWS>& s) {
  enum { kNumbers = 32 / BITS, kUnroll = ROWS > 4 ? 1 : ROWS > 1 ? 2 : 4 };
  const int tid = int(c.tid.x), split = int(c.bid.z), n0 = int(c.bid.x) * kGemvColumns;
  const int column = n0 + tid % 8 * 4, steps = p.gemm.split_k / kNumbers;
  const int first = split * steps, end = tk_imin(first + steps, p.blocks.words);
  tk_results<ROWS, 1, 4> sum;
  tk_clear(sum);
  for (int w0 = first + tid / 8; w0 < end; w0 += int(kGemvSlices) * kUnroll) {
    tk_block_words b[kUnroll];
    TK_UNROLL for (int i = 0; i < kUnroll; ++i) {
      const int word = w0 + i * kGemvSlices;
      tk_load_block<BITS>(packed, p.blocks, word, column, word < end && column < p.blocks.stride,
                          b[i]);
    }
    TK_UNROLL for (int i = 0; i < kUnroll; ++i) {
      const int k = (w0 + i * kGemvSlices) * kNumbers;
      tk_results<ROWS, 1, 4> part;
      tk_clear(part);
      TK_UNROLL for (int h = 0; h < kNumbers; h += 4) {
        tk_vec<4> u[ROWS];
        TK_UNROLL for (int m = 0; m < ROWS; ++m) {
          tk_load_some(a + (tk_i64(m) * p.gemm.a_m + k + h), m < p.gemm.M ? p.gemm.K - k - h : 0,
                       p.gemm.a_vectors != 0, u[m]);
        }
        TK_UNROLL for (int j = 0; j < 4; ++j) {
          TK_UNROLL for (int n = 0; n < 4; ++n) {
            const float v = tk_block_number<BITS>(b[i], j, h + n);
            TK_UNROLL for (int m = 0; m < ROWS; ++m) {
              part.v[m][j] = tk_fma(u[m].v[n], v, part.v[m][j]);
            }
          }
        }
      }
      TK_UNROLL for (int m = 0; m < ROWS; ++m) {
        TK_UNROLL for (int j = 0; j < 4; ++j) {
          sum.v[m][j] = tk_fma(b[i].scales[j], part.v[m][j], sum.v[m][j]);
        }
      }
    }
  }
  tk_gemv_share<ROWS>(c, sum, s);
  tk_gemv_finish<ROWS>(c, n0, 0, bias, slope, residual, partial, y, p.gemm, s);
}

// The weights of some columns, [K, columns]: a thread does one word of four columns.
template <class T, int BITS>
TK_FN void block_unpack(TK_CTX c, TK_GLOBAL const tk_u32* packed, TK_GLOBAL T* b,
                        TK_PARAM BlockUnpackParams& p, TK_SHARED tk_no_shared&) {
  enum { kNumbers = 32 / BITS };
  int column = int(c.bid.x * c.bdim.x + c.tid.x);
  if (column >= p.threads) return;
  const int word = tk_divmod(column, p.groups);
  column *= 4;
  tk_block_words from;
  tk_load_block<BITS>(packed, p.blocks, word, p.first + column, true, from);
  TK_UNROLL for (int i = 0; i < kNumbers; ++i) {
    const int k = word * kNumbers + i;
    tk_vec<4> r;
    TK_UNROLL for (int j = 0; j < 4; ++j) {
      r.v[j] = tk_block_number<BITS>(from, j, i) * from.scales[j];
    }
    if (k < p.K) tk_store_vec(b + (tk_i64(k) * p.b_k + column), r);
  }
}

}  // namespace tk

#ifdef TK_OWN_KERNELS
#include "gpu/metal/block_gemv_pairs.hpp"
#endif
