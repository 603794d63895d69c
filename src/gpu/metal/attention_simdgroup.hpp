// The values' part of attention by the matrix units of Apple's GPUs. In place of tk_attention_add
// of gpu/kernels/attention.hpp, for the same tiles; the scores' part is tk_tile_sum, of
// tile_simdgroup.hpp. What a tile of keys adds is summed in matrices; the sum over tiles stays with
// the threads, whose rows are multiplied by a factor each in between.
#pragma once

namespace tk {

template <class T, class V>
inline void tk_attention_add(TK_CTX c, device const T* v, constant const AttentionParams& p,
                             int key, int end, int column, bool guarded, thread tk_vec<4>* next,
                             threadgroup tk_attention_shared<V>& s,
                             thread tk_results<4, V::kGroups, 4>& sum) {
  const int tid = int(c.tid.x), start = tid & ~31;  // the first thread of the simdgroup
  threadgroup float* stages = (threadgroup float*)s.values;
  threadgroup float* weights = (threadgroup float*)&s.scores;
  tk_blocks<V> blocks;
  tk_blocks_clear(blocks);
  tk_attention_store<V>(tid, next, stages);
  TK_BARRIER(c);
  int stage = 0;
  for (int k = key; k < end; k += V::kK) {
    const bool more = k + V::kK < end;
    if (more) tk_attention_load<T, V>(tid, v, p, k + V::kK, end, column, next);
    threadgroup const float* a = weights + (k - key) * V::kStrideA;
    threadgroup const float* b = stages + stage * V::kSharedB;
    // Matrices multiply all by all: 0 times NaN of a key that a row may not read would show in it.
    if (guarded) {
      tk_attention_multiply<V>(a + tk_tile_row<V>(tid), b + tk_tile_column<V>(tid), sum);
    } else {
      tk_blocks_multiply<V>(a + tk_tile_row<V>(start), b + tk_tile_column<V>(start), blocks);
    }
    stage ^= 1;
    if (more) tk_attention_store<V>(tid, next, stages + stage * V::kSharedB);
    TK_BARRIER(c);
  }
  if (guarded) return;
  // The weights are no longer needed.
  tk_results<4, V::kGroups, 4> added;
  tk_blocks_to_threads<V>(weights + start * 16, tid & 31, blocks, added);
  TK_UNROLL for (int i = 0; i < 4; ++i) {
    TK_UNROLL for (int j = 0; j < V::kGroups * 4; ++j) sum.v[i][j] += added.v[i][j];
  }
  TK_BARRIER(c);
}

}  // namespace tk
