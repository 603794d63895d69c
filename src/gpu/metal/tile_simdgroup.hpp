// Matrix products by the matrix units of Apple's GPUs. In place of tk_tile_sum of
// gpu/kernels/tile.hpp, for the same tiles: the stages in shared memory and what each thread gets
// of the results are the same, so that operands and epilogues need not know.
#pragma once

namespace tk {

// What the 32 threads of a simdgroup keep are blocks of kDown x kAcross matrices of 8 x 8: one for
// each four of rows and four of columns of a thread.
template <class S>
struct tk_blocks {
  enum {
    kFours = S::kRows / 4,
    kDown = S::kLanesDown / 2,
    kAcross = S::kLanesAcross / 2,
    kWidth = S::kLanesAcross * 4
  };
  simdgroup_float8x8 v[kFours][S::kGroups][kDown][kAcross];
};

template <class S>
inline void tk_blocks_clear(thread tk_blocks<S>& sum) {
  typedef tk_blocks<S> B;
  TK_UNROLL for (int i = 0; i < B::kFours; ++i) {
    TK_UNROLL for (int g = 0; g < S::kGroups; ++g) {
      TK_UNROLL for (int q = 0; q < B::kDown * B::kAcross; ++q) {
        sum.v[i][g][q / B::kAcross][q % B::kAcross] =
            make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
      }
    }
  }
}

// `a` and `b` are a stage at the simdgroup's first row and column; a lies by columns.
template <class S>
inline void tk_blocks_multiply(threadgroup const float* a, threadgroup const float* b,
                               thread tk_blocks<S>& sum) {
  typedef tk_blocks<S> B;
  TK_UNROLL for (int k = 0; k < S::kK; k += 8) {
    simdgroup_float8x8 u[B::kFours][B::kDown], v[S::kGroups][B::kAcross];
    TK_UNROLL for (int i = 0; i < B::kFours; ++i) {
      TK_UNROLL for (int p = 0; p < B::kDown; ++p) {
        simdgroup_load(u[i][p], a + k * S::kStrideA + i * S::kRowGap + p * 8, ulong(S::kStrideA),
                       ulong2(0ul), true);
      }
    }
    TK_UNROLL for (int g = 0; g < S::kGroups; ++g) {
      TK_UNROLL for (int q = 0; q < B::kAcross; ++q) {
        simdgroup_load(v[g][q], b + k * S::kStrideB + g * S::kColumnGap + q * 8,
                       ulong(S::kStrideB));
      }
    }
    TK_UNROLL for (int i = 0; i < B::kFours; ++i) {
      TK_UNROLL for (int g = 0; g < S::kGroups; ++g) {
        TK_UNROLL for (int p = 0; p < B::kDown; ++p) {
          TK_UNROLL for (int q = 0; q < B::kAcross; ++q) {
            simdgroup_multiply_accumulate(sum.v[i][g][p][q], u[i][p], v[g][q], sum.v[i][g][p][q]);
          }
        }
      }
    }
  }
}

// To each thread its own, by way of shared memory: which lane holds what of a matrix is not
// specified. `own` is 512 floats of the simdgroup.
template <class S>
inline void tk_blocks_to_threads(threadgroup float* own, int lane, thread tk_blocks<S>& sum,
                                 thread tk_results<S::kRows, S::kGroups, 4>& results) {
  typedef tk_blocks<S> B;
  threadgroup const float* mine =
      own + lane / S::kLanesAcross * 4 * B::kWidth + lane % S::kLanesAcross * 4;
  TK_UNROLL for (int i = 0; i < B::kFours; ++i) {
    TK_UNROLL for (int g = 0; g < S::kGroups; ++g) {
      TK_UNROLL for (int p = 0; p < B::kDown; ++p) {
        TK_UNROLL for (int q = 0; q < B::kAcross; ++q) {
          simdgroup_store(sum.v[i][g][p][q], own + p * 8 * B::kWidth + q * 8, ulong(B::kWidth));
        }
      }
      simdgroup_barrier(mem_flags::mem_threadgroup);
      TK_UNROLL for (int r = 0; r < 4; ++r) {
        TK_UNROLL for (int j = 0; j < 4; ++j) {
          results.v[i * 4 + r][g * 4 + j] = mine[r * B::kWidth + j];
        }
      }
      simdgroup_barrier(mem_flags::mem_threadgroup);
    }
  }
}

template <class S, class L, class T, class P>
inline void tk_tile_sum(TK_CTX c, device const T* a, device const T* b, constant const P& p,
                        threadgroup tk_tile_shared<S>& s, int first, int end,
                        thread typename L::State& state,
                        thread tk_results<S::kRows, S::kGroups, 4>& results) {
  static_assert(S::kThreads * 16 <= 2 * (S::kSharedA + S::kSharedB), "room for all results");
  const int tid = int(c.tid.x), start = tid & ~31;  // the first thread of the simdgroup
  threadgroup float* sa = (threadgroup float*)s.a;
  threadgroup float* sb = (threadgroup float*)s.b;
  threadgroup const float* ra = sa + tk_tile_row<S>(start);
  threadgroup const float* rb = sb + tk_tile_column<S>(start);
  tk_vec<4> na[S::kLoadsA], nb[S::kLoadsB];
  tk_blocks<S> sum;
  tk_blocks_clear(sum);
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
    tk_blocks_multiply<S>(ra + stage * S::kSharedA, rb + stage * S::kSharedB, sum);
    stage ^= 1;
    if (more) L::store(tid, p, na, nb, sa + stage * S::kSharedA, sb + stage * S::kSharedB);
    TK_BARRIER(c);
  }
  // The stages are no longer needed: shared memory holds results now, a's and b's part as one.
  tk_blocks_to_threads<S>(sa + start * 16, tid & 31, sum, results);
}

}  // namespace tk
