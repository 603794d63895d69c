// Attention of few queries, where reading the keys and values is all the work: a group takes one
// query, and keys that are many are split among groups, whose parts are merged after
// ("Flash-Decoding", Dao, Haziza, Massa and Sizov, 2023).
#pragma once

#include "gpu/kernels/attention.hpp"

namespace tk {

// A group has a thread for each key of a step, and one for each element of q.
enum { kFewKeys = 256, kFewLanes = 8 };

struct tk_attention_few_shared {
  tk_u32x4 q[kFewKeys / 4];
  tk_u32x4 values[kFewKeys];  // what the threads have of sums of four columns
  float weights[kFewKeys];
  float top[8], sum[8], open[8];
};

// q·k of the key that this thread is to have, of those from `key` on: number kFewKeys / kFewLanes ·
// (lane % kFewLanes) + tid / kFewLanes. Lanes that are neighbours read the same keys, four elements
// each.
template <class T>
TK_FN float tk_attention_few_product(TK_CTX c, TK_GLOBAL const T* k, TK_PARAM AttentionParams& p,
                                     int key, int stop, TK_SHARED const float* q) {
  const int tid = int(c.tid.x), own = tid % kFewLanes;
  const int first = key + tid / kFewLanes;
  float sum[kFewLanes];
  TK_UNROLL for (int i = 0; i < kFewLanes; ++i) sum[i] = 0.0f;
  for (int d = own * 4; d < p.depth; d += kFewLanes * 4) {
    tk_vec<4> u, w[kFewLanes];
    TK_UNROLL for (int i = 0; i < kFewLanes; ++i) {
      const int j = first + i * (kFewKeys / kFewLanes);
      tk_load_some(k + (j * p.depth + d), j < stop ? p.depth - d : 0, p.vectors != 0, w[i]);
    }
    tk_shared_load4(q + d, u);
    TK_UNROLL for (int i = 0; i < kFewLanes; ++i) {
      TK_UNROLL for (int j = 0; j < 4; ++j) sum[i] = tk_fma(u.v[j], w[i].v[j], sum[i]);
    }
  }
  float mine = 0.0f;
  TK_UNROLL for (int i = 0; i < kFewLanes; ++i) {
    float v = sum[i];
    TK_UNROLL for (int step = kFewLanes / 2; step > 0; step >>= 1) v = v + tk_warp_xor(c, v, step);
    if (i == own) mine = v;
  }
  return mine;
}

// Adds to `sum` the values of `count` keys by their weights: those that are this thread's.
template <class T>
TK_FN void tk_attention_few_add(int tid, TK_GLOBAL const T* v, TK_PARAM AttentionParams& p,
                                int count, TK_SHARED const float* weights,
                                TK_LOCAL tk_vec<4>& sum) {
  enum { kAhead = 4 };
  const int column = (tid & ((1 << p.columns_log) - 1)) * 4;
  const int slices = kFewKeys >> p.columns_log;
  for (int key = tid >> p.columns_log; key < count; key += slices * kAhead) {
    tk_vec<4> r[kAhead];
    TK_UNROLL for (int i = 0; i < kAhead; ++i) {
      const int j = key + i * slices;
      tk_load_some(v + (j * p.width + column), j < count ? p.width - column : 0,
                   p.value_vectors != 0, r[i]);
    }
    TK_UNROLL for (int i = 0; i < kAhead; ++i) {
      const int j = key + i * slices;
      const float weight = j < count ? weights[j] : 0.0f;
      TK_UNROLL for (int n = 0; n < 4; ++n) sum.v[n] = tk_fma(weight, r[i].v[n], sum.v[n]);
    }
  }
}

// A split's part: its sum of values, one row of `width` a row of y, all splits of them first; then
// its largest score, the sum of weights, and whether any key may be read.
TK_FN tk_i64 tk_attention_part(TK_PARAM AttentionParams& p, int split, int row) {
  return tk_i64(split) * p.rows + row;
}

template <class T>
TK_FN void tk_attention_few_finish(TK_CTX c, TK_PARAM AttentionParams& p, int split, int row,
                                   float top, float sum, float open, TK_LOCAL const tk_vec<4>& part,
                                   TK_GLOBAL float* partial, TK_GLOBAL T* y,
                                   TK_SHARED tk_attention_few_shared& s) {
  const int tid = int(c.tid.x), columns = 4 << p.columns_log;
  sum = tk_warp_sum(c, sum);
  open = tk_warp_max(c, open);
  if (c.lane == 0) {
    s.sum[c.warp] = sum;
    s.open[c.warp] = open;
  }
  TK_SHARED float* values = (TK_SHARED float*)s.values;
  tk_shared_store4(values + tid * 4, part);
  TK_BARRIER(c);
  sum = tk_warp_sum(c, c.lane < 8 ? s.sum[c.lane] : 0.0f);
  open = tk_warp_max(c, c.lane < 8 ? s.open[c.lane] : 0.0f);
  if (tid < p.width) {
    float total = 0.0f;
    for (int at = tid; at < kFewKeys * 4; at += columns) total += values[at];
    const tk_i64 at = tk_attention_part(p, split, row);
    if (p.splits > 1) {
      partial[at * p.width + tid] = total;
    } else {
      tk_store(y + (tk_i64(row) * p.width + tid), open != 0.0f ? total / sum : 0.0f);
    }
  }
  if (p.splits > 1 && tid == 0) {
    TK_GLOBAL float* known =
        partial + tk_i64(p.splits) * p.rows * p.width + tk_attention_part(p, split, row) * 3;
    known[0] = top;
    known[1] = sum;
    known[2] = open;
  }
}

// Heads of q and k of up to kFewKeys elements, values of up to kFewKeys columns. Groups x: rows of
// y; z: splits of the keys.
template <class T>
TK_FN void attention_few(TK_CTX c, TK_GLOBAL const T* q, TK_GLOBAL const T* k, TK_GLOBAL const T* v,
                         TK_GLOBAL const T* mask, TK_GLOBAL float* partial, TK_GLOBAL T* y,
                         TK_PARAM AttentionParams& p, TK_SHARED tk_attention_few_shared& s) {
  const int tid = int(c.tid.x), row = int(c.bid.x), split = int(c.bid.z);
  int i = row;
  const int head = tk_divmod(i, p.tiles), kv = tk_div(head, p.group);
  const int first = tk_imax(i + p.low, 0) + split * p.split_keys;
  const int stop = tk_imin(tk_imin(p.keys, i + p.high + 1), first + p.split_keys);
  TK_GLOBAL const T* keys = k + tk_i64(kv) * p.keys * p.depth;
  TK_GLOBAL const T* values = v + tk_i64(kv) * p.keys * p.width;
  TK_GLOBAL const T* masks =
      mask + (p.masked ? tk_attention_mask(p, head) + tk_i64(i) * p.mask_row : 0);
  TK_SHARED float* qs = (TK_SHARED float*)s.q;
  qs[tid] = tid < p.depth ? tk_load(q + (tk_i64(row) * p.depth + tid)) : 0.0f;
  TK_BARRIER(c);
  float top = -tk_inf(), sum = 0.0f, open = 0.0f;
  tk_vec<4> part;
  tk_fill_vec(0.0f, part);
  const int own = tid % kFewLanes * (kFewKeys / kFewLanes) + tid / kFewLanes;
  for (int key = first; key < stop; key += kFewKeys) {
    const float product = tk_attention_few_product(c, keys, p, key, stop, qs);
    float score = -tk_inf();
    if (key + own < stop) {
      const float add = p.masked ? tk_load(masks + tk_i64(key + own) * p.mask_key) : 0.0f;
      score = tk_attention_score(p, product) + add;
      if (add != -tk_inf()) open = 1.0f;
    }
    const float warp_top = tk_warp_max(c, score);
    if (c.lane == 0) s.top[c.warp] = warp_top;
    TK_BARRIER(c);
    const float before = top;
    top = tk_max(top, tk_warp_max(c, c.lane < 8 ? s.top[c.lane] : -tk_inf()));
    // Where every score is −inf so far, the weights are 0.
    const float base = top == -tk_inf() ? 0.0f : top, rescale = tk_exp(before - base);
    const float weight = tk_exp(score - base);
    sum = sum * rescale + weight;
    s.weights[own] = weight;
    TK_UNROLL for (int n = 0; n < 4; ++n) part.v[n] *= rescale;
    TK_BARRIER(c);
    tk_attention_few_add(tid, values + tk_i64(key) * p.width, p, tk_imin(stop - key, kFewKeys),
                         s.weights, part);
  }
  tk_attention_few_finish(c, p, split, row, top, sum, open, part, partial, y, s);
}

// The parts of the splits as one: a thread for each element of y. p.blocks is the width.
template <class T>
TK_FN void attention_merge(TK_CTX c, TK_GLOBAL const float* partial, TK_GLOBAL T* y,
                           TK_PARAM AttentionParams& p, TK_SHARED tk_no_shared&) {
  int column = int(c.bid.x) * kFewKeys + int(c.tid.x);
  const int row = tk_divmod(column, p.blocks);
  if (row >= p.rows) return;
  TK_GLOBAL const float* known = partial + tk_i64(p.splits) * p.rows * p.width;
  float top = -tk_inf(), open = 0.0f;
  for (int split = 0; split < p.splits; ++split) {
    const tk_i64 at = tk_attention_part(p, split, row);
    top = tk_max(top, known[at * 3]);
    open = tk_max(open, known[at * 3 + 2]);
  }
  const float base = top == -tk_inf() ? 0.0f : top;
  float sum = 0.0f, total = 0.0f;
  for (int split = 0; split < p.splits; ++split) {
    const tk_i64 at = tk_attention_part(p, split, row);
    const float factor = tk_exp(known[at * 3] - base);
    sum = tk_fma(known[at * 3 + 1], factor, sum);
    total = tk_fma(partial[at * p.width + column], factor, total);
  }
  tk_store(y + (tk_i64(row) * p.width + column), open != 0.0f ? total / sum : 0.0f);
}

}  // namespace tk
