// Scaled dot-product attention without the matrix of scores in memory: the softmax of a row is kept
// up to date over tiles of keys (Milakov and Gimelshein, "Online normalizer calculation for
// softmax", 2018), and with it the sum of the values (Dao et al., "FlashAttention", 2022).
#pragma once

#include "gpu/kernels/params.hpp"
#include "gpu/kernels/tile.hpp"

namespace tk {

// Queries by keys. The eight lanes that share four rows are neighbours, so that what is known of a
// row is shared by exchanges within a warp.
typedef tk_tile<64, 64, 16, 4, 8> tk_attention_tile;
// Queries by columns of v, for whole tiles of keys: the threads have the same rows of both.
typedef tk_tile<64, 32, 16, 4, 4> tk_attention_32;
typedef tk_tile<64, 64, 16, 4, 8> tk_attention_64;
typedef tk_tile<64, 96, 16, 4, 12> tk_attention_96;
typedef tk_tile<64, 128, 8, 4, 16> tk_attention_128;

// `scores` holds stages of q and k, then the weights of the keys: 64 rows of kStrideA.
template <class V>
struct tk_attention_shared {
  tk_tile_shared<tk_attention_tile> scores;
  tk_u32x4 values[2 * V::kSharedB / 4];
};
typedef tk_attention_shared<tk_attention_32> tk_attention_shared_32;
typedef tk_attention_shared<tk_attention_64> tk_attention_shared_64;
typedef tk_attention_shared<tk_attention_96> tk_attention_shared_96;
typedef tk_attention_shared<tk_attention_128> tk_attention_shared_128;

// Rows of q and of k, both along the head size, for tk_tile_sum.
template <class T>
struct tk_attention_operands {
  typedef tk_attention_tile S;
  enum { kDown = S::kThreads / (S::kK / 4) };
  struct State {
    int row, key, d;
  };
  static TK_FN void load_rows(TK_GLOBAL const T* from, TK_PARAM AttentionParams& p, int row,
                              int rows, int d, TK_LOCAL tk_vec<4>* next) {
    TK_UNROLL for (int i = 0; i < S::kLoadsA; ++i) {
      const int r = row + i * kDown;
      tk_load_some(from + (r * p.depth + d), r < rows ? p.depth - d : 0, p.vectors != 0, next[i]);
    }
  }
  static TK_FN void load(TK_GLOBAL const T* q, TK_GLOBAL const T* k, TK_PARAM AttentionParams& p,
                         TK_LOCAL const State& t, TK_LOCAL tk_vec<4>* na, TK_LOCAL tk_vec<4>* nb) {
    load_rows(q, p, t.row, p.queries, t.d, na);
    load_rows(k, p, t.key, p.keys, t.d, nb);
  }
  static TK_FN void store(int tid, TK_PARAM AttentionParams&, TK_LOCAL const tk_vec<4>* na,
                          TK_LOCAL const tk_vec<4>* nb, TK_SHARED float* sa, TK_SHARED float* sb) {
    const int d = tid % (S::kK / 4) * 4, row = tid / (S::kK / 4);
    TK_UNROLL for (int i = 0; i < S::kLoadsA; ++i) {
      tk_store_across(sa, S::kStrideA, d, row + i * kDown, na[i]);
      tk_store_across(sb, S::kStrideB, d, row + i * kDown, nb[i]);
    }
  }
  static TK_FN void advance(TK_PARAM AttentionParams&, TK_LOCAL State& t) { t.d += S::kK; }
};

// A stage of v: V::kK keys from `key` on by V::kN columns from `column` on; zeros from key `end`
// on.
template <class T, class V>
TK_FN void tk_attention_load(int tid, TK_GLOBAL const T* v, TK_PARAM AttentionParams& p, int key,
                             int end, int column, TK_LOCAL tk_vec<4>* next) {
  TK_UNROLL for (int i = 0; i < V::kLoadsB; ++i) {
    const int at = tid + i * V::kThreads;
    const int j = key + at / (V::kN / 4), n = column + at % (V::kN / 4) * 4;
    tk_load_some(v + (j * p.width + n), j < end ? p.width - n : 0, p.value_vectors != 0, next[i]);
  }
}
template <class V>
TK_FN void tk_attention_store(int tid, TK_LOCAL const tk_vec<4>* next, TK_SHARED float* stage) {
  TK_UNROLL for (int i = 0; i < V::kLoadsB; ++i) {
    const int at = tid + i * V::kThreads;
    tk_store_along(stage, V::kStrideB, at / (V::kN / 4), at % (V::kN / 4) * 4, next[i]);
  }
}

// What the threads know of their four rows: the largest score so far, their own part of the sum of
// exp(score − largest), and, by bits, whether any key may be read.
struct tk_attention_rows {
  float top[4], sum[4];
  int open;
};

TK_FN bool tk_attention_inside(TK_PARAM AttentionParams& p, int row, int key) {
  return key < p.keys && key >= row + p.low && key <= row + p.high;
}

TK_FN float tk_attention_score(TK_PARAM AttentionParams& p, float product) {
  const float v = product * p.scale;
  return p.softcap > 0.0f ? p.softcap * tk_tanh(v / p.softcap) : v;
}

// Products of rows and keys from `row` and `key` on become scores; −inf outside of the window,
// which only a tile on its `edge` has.
template <class T>
TK_FN void tk_attention_scores(TK_PARAM AttentionParams& p, TK_GLOBAL const T* mask, int row,
                               int key, bool edge, TK_LOCAL tk_attention_rows& rows,
                               TK_LOCAL tk_results<4, 2, 4>& s) {
  TK_UNROLL for (int i = 0; i < 4; ++i) {
    TK_UNROLL for (int g = 0; g < 2; ++g) {
      const int first = key + g * tk_attention_tile::kColumnGap;
      tk_vec<4> add;
      if (p.masked) {
        const tk_i64 at = tk_i64(row + i) * p.mask_row + tk_i64(first) * p.mask_key;
        tk_load_strided(mask + at, p.mask_key, row + i < p.queries ? p.keys - first : 0,
                        p.mask_vectors != 0, add);
      }
      TK_UNROLL for (int j = 0; j < 4; ++j) {
        float v = tk_attention_score(p, s.v[i][g * 4 + j]);
        const bool inside = !edge || tk_attention_inside(p, row + i, first + j);
        if (p.masked) {
          v += add.v[j];
          if (inside && add.v[j] != -tk_inf()) rows.open |= 1 << i;
        }
        s.v[i][g * 4 + j] = inside ? v : -tk_inf();
      }
    }
  }
}

// Scores become weights exp(score − largest), in `weights` by columns of rows; what was summed
// before is to be multiplied by `rescale`. With `guarded`, −1 marks keys outside of the window,
// whose values are not to be looked at: they may be NaN or infinite.
TK_FN void tk_attention_weigh(TK_CTX c, TK_PARAM AttentionParams& p, int row, int key, bool guarded,
                              TK_LOCAL tk_attention_rows& rows, TK_LOCAL tk_results<4, 2, 4>& s,
                              TK_LOCAL float* rescale, TK_SHARED float* weights) {
  typedef tk_attention_tile S;
  TK_UNROLL for (int i = 0; i < 4; ++i) {
    float top = rows.top[i];
    TK_UNROLL for (int j = 0; j < 8; ++j) top = tk_max(top, s.v[i][j]);
    TK_UNROLL for (int step = S::kLanesAcross / 2; step > 0; step >>= 1) {
      top = tk_max(top, tk_warp_xor(c, top, step));
    }
    // Where every score is −inf so far, the weights are 0.
    const float base = top == -tk_inf() ? 0.0f : top;
    rescale[i] = tk_exp(rows.top[i] - base);
    rows.top[i] = top;
    float sum = rows.sum[i] * rescale[i];
    TK_UNROLL for (int j = 0; j < 8; ++j) {
      const float w = tk_exp(s.v[i][j] - base);
      sum += w;
      s.v[i][j] = w;
    }
    rows.sum[i] = sum;
  }
  TK_UNROLL for (int g = 0; g < 2; ++g) {
    TK_UNROLL for (int j = 0; j < 4; ++j) {
      const int at = g * S::kColumnGap + j;
      tk_vec<4> column;
      TK_UNROLL for (int i = 0; i < 4; ++i) {
        const bool out = guarded && !tk_attention_inside(p, row + i, key + at);
        column.v[i] = out ? -1.0f : s.v[i][g * 4 + j];
      }
      tk_shared_store4(weights + at * S::kStrideA, column);
    }
  }
}

// tk_tile_multiply without the keys whose weight is −1.
template <class V>
TK_FN void tk_attention_multiply(TK_SHARED const float* a, TK_SHARED const float* b,
                                 TK_LOCAL tk_results<4, V::kGroups, 4>& sum) {
  TK_NO_UNROLL for (int k = 0; k < V::kK; ++k) {
    tk_vec<4> u, v[V::kGroups];
    tk_shared_load4(a + k * V::kStrideA, u);
    TK_UNROLL for (int g = 0; g < V::kGroups; ++g) {
      tk_shared_load4(b + k * V::kStrideB + g * V::kColumnGap, v[g]);
    }
    TK_UNROLL for (int i = 0; i < 4; ++i) {
      if (u.v[i] < 0.0f) continue;
      TK_UNROLL for (int j = 0; j < V::kGroups * 4; ++j) {
        sum.v[i][j] = tk_fma(u.v[i], v[j / 4].v[j % 4], sum.v[i][j]);
      }
    }
  }
}

// Adds to `sum` the values of keys [key, end), at most a tile of them, by their weights. `next` is
// the first stage of values; the weights are there after a barrier. Ends with a barrier.
template <class T, class V>
TK_FN void tk_attention_add(TK_CTX c, TK_GLOBAL const T* v, TK_PARAM AttentionParams& p, int key,
                            int end, int column, bool guarded, TK_LOCAL tk_vec<4>* next,
                            TK_SHARED tk_attention_shared<V>& s,
                            TK_LOCAL tk_results<4, V::kGroups, 4>& sum);

// y of four rows from `row` on, of columns from `column` on.
template <class T, class V>
TK_FN void tk_attention_finish(TK_CTX c, TK_PARAM AttentionParams& p, int row, int column,
                               TK_LOCAL tk_attention_rows& rows,
                               TK_LOCAL const tk_results<4, V::kGroups, 4>& sum, TK_GLOBAL T* y) {
  TK_UNROLL for (int step = V::kLanesAcross / 2; step > 0; step >>= 1) {
    rows.open |= tk_warp_xor(c, rows.open, step);
    TK_UNROLL for (int i = 0; i < 4; ++i) rows.sum[i] += tk_warp_xor(c, rows.sum[i], step);
  }
  TK_UNROLL for (int i = 0; i < 4; ++i) {
    const int r = row + i;
    const bool any = tk_imax(r + p.low, 0) <= tk_imin(r + p.high, p.keys - 1);
    const bool open = any && (!p.masked || (rows.open >> i & 1) != 0);
    TK_UNROLL for (int g = 0; g < V::kGroups; ++g) {
      const int n = column + g * V::kColumnGap;
      tk_vec<4> results;
      TK_UNROLL for (int j = 0; j < 4; ++j) {
        results.v[j] = open ? sum.v[i][g * 4 + j] / rows.sum[i] : 0.0f;
      }
      tk_store_some(y + (r * p.width + n), results, r < p.queries ? p.width - n : 0,
                    p.value_vectors != 0);
    }
  }
}

TK_FN tk_i64 tk_attention_mask(TK_PARAM AttentionParams& p, int head) {
  int h = head;
  const int batch = tk_divmod(h, p.heads);
  return batch * p.mask_batch + h * p.mask_head;
}

// A group computes 64 rows of a head by V::kN columns. Groups x: heads, tiles of rows, the last one
// first (the longest of causal attention), and, neighbouring, blocks of columns.
template <class T, class V>
TK_FN void attention(TK_CTX c, TK_GLOBAL const T* q, TK_GLOBAL const T* k, TK_GLOBAL const T* v,
                     TK_GLOBAL const T* mask, TK_GLOBAL T* y, TK_PARAM AttentionParams& p,
                     TK_SHARED tk_attention_shared<V>& s) {
  typedef tk_attention_tile S;
  const int tid = int(c.tid.x);
  int block = int(c.bid.x), tile = tk_divmod(block, p.blocks);
  const int head = tk_divmod(tile, p.tiles), kv = tk_div(head, p.group);
  const int row0 = (int(p.tiles.divisor) - 1 - tile) * S::kM;
  const int last = tk_imin(row0 + S::kM, p.queries) - 1;
  TK_GLOBAL const T* queries = q + tk_i64(head) * p.queries * p.depth;
  TK_GLOBAL const T* keys = k + tk_i64(kv) * p.keys * p.depth;
  TK_GLOBAL const T* values = v + tk_i64(kv) * p.keys * p.width;
  TK_GLOBAL const T* masks = mask + (p.masked ? tk_attention_mask(p, head) : 0);
  const int row = row0 + tk_tile_row<S>(tid), column = tk_tile_column<S>(tid);
  TK_SHARED float* weights =
      (TK_SHARED float*)&s.scores + column * S::kStrideA + tk_tile_row<S>(tid);
  tk_attention_rows rows;
  TK_UNROLL for (int i = 0; i < 4; ++i) {
    rows.top[i] = -tk_inf();
    rows.sum[i] = 0.0f;
  }
  rows.open = 0;
  tk_results<4, V::kGroups, 4> sum;
  tk_clear(sum);
  const int end = tk_imin(p.keys, last + p.high + 1);
  for (int key = tk_imax(row0 + p.low, 0) & ~(S::kN - 1); key < end; key += S::kN) {
    const int stop = tk_imin(key + S::kN, end);
    // Some row may read some of these keys, and some row may not.
    const bool guarded = key < last + p.low || stop > row0 + p.high + 1;
    typename tk_attention_operands<T>::State state;
    state.row = row0 + tid / (S::kK / 4);
    state.key = key + tid / (S::kK / 4);
    state.d = tid % (S::kK / 4) * 4;
    tk_results<4, 2, 4> scores;
    tk_tile_sum<S, tk_attention_operands<T> >(c, queries, keys, p, s.scores, 0, p.depth, state,
                                              scores);
    tk_attention_scores(p, masks, row, key + column, guarded || stop < key + S::kN, rows, scores);
    float rescale[4];
    TK_BARRIER(c);  // the weights take the place of what the sum above was made from
    tk_attention_weigh(c, p, row, key + column, guarded, rows, scores, rescale, weights);
    tk_vec<4> next[V::kLoadsB];
    tk_attention_load<T, V>(tid, values, p, key, stop, block * V::kN, next);
    TK_UNROLL for (int i = 0; i < 4; ++i) {
      TK_UNROLL for (int j = 0; j < V::kGroups * 4; ++j) sum.v[i][j] *= rescale[i];
    }
    tk_attention_add<T, V>(c, values, p, key, stop, block * V::kN, guarded, next, s, sum);
  }
  tk_attention_finish<T, V>(c, p, row, block * V::kN + tk_tile_column<V>(tid), rows, sum,
                            y + tk_i64(head) * p.queries * p.width);
}

#ifndef TK_OWN_KERNELS

template <class T, class V>
TK_FN void tk_attention_add(TK_CTX c, TK_GLOBAL const T* v, TK_PARAM AttentionParams& p, int key,
                            int end, int column, bool guarded, TK_LOCAL tk_vec<4>* next,
                            TK_SHARED tk_attention_shared<V>& s,
                            TK_LOCAL tk_results<4, V::kGroups, 4>& sum) {
  const int tid = int(c.tid.x);
  TK_SHARED float* stages = (TK_SHARED float*)s.values;
  TK_SHARED const float* a = (TK_SHARED const float*)&s.scores + tk_tile_row<V>(tid);
  TK_SHARED const float* b = stages + tk_tile_column<V>(tid);
  tk_attention_store<V>(tid, next, stages);
  TK_BARRIER(c);
  int stage = 0;
  for (int k = key; k < end; k += V::kK) {
    const bool more = k + V::kK < end;
    if (more) tk_attention_load<T, V>(tid, v, p, k + V::kK, end, column, next);
    TK_SHARED const float* weights = a + (k - key) * V::kStrideA;
    if (guarded) {
      tk_attention_multiply<V>(weights, b + stage * V::kSharedB, sum);
    } else {
      tk_tile_multiply<V>(weights, b + stage * V::kSharedB, sum);
    }
    stage ^= 1;
    if (more) tk_attention_store<V>(tid, next, stages + stage * V::kSharedB);
    TK_BARRIER(c);
  }
}

#endif

}  // namespace tk

#ifdef TK_OWN_KERNELS
#include "gpu/metal/attention_simdgroup.hpp"
#endif
