// Parameters of the kernels that see a tensor as [outer, n, inner] and work along n: reductions,
// softmax, norms, cumulative sums. A column is one (outer, inner) pair: `columns` of them.
#pragma once

#include "gpu/dialect/types.hpp"

namespace tk {

enum { kGroup = 256, kGroupLog = 8 };

// How the 256 threads of a group share its columns: 2^slices_log threads a column, each of which
// takes every 2^slices_log-th position. `along`: neighbouring threads take neighbouring positions
// (for inner == 1), else neighbouring columns. Group y takes the positions from y·chunk on.
struct SplitParams {
  tk_divisor width;  // columns an outer index, each of V elements
  tk_i32 columns, n, inner, chunk, slices_log, along;
};
static_assert(sizeof(SplitParams) == 36, "no padding");

// What a sum takes of each element.
enum { kTakeValue, kTakeMagnitude, kTakeSquare };
// What becomes of a finished result.
enum { kAfterNone, kAfterMean, kAfterSqrt, kAfterLog };
// How results are stored.
enum { kOutFloat, kOutHalf, kOutByte };

struct ReduceParams {
  SplitParams split;
  tk_i32 warps;  // a row: 1, 2, 4 or 8 (reduce_rows)
  tk_i32 take;
  tk_u32 flip;  // of the bits of each element before and after: the sign, to find the smallest
  tk_i32 after, out;
  float count;  // of elements a result, for kAfterMean
};
static_assert(sizeof(ReduceParams) == 36 + 24, "no padding");

struct ArgReduceParams {
  SplitParams split;
  tk_u32 flip;
  tk_i32 last;  // of equals, the last one is taken
};
static_assert(sizeof(ArgReduceParams) == 36 + 8, "no padding");

struct SoftmaxParams {
  SplitParams split;
  tk_i32 log;
};
static_assert(sizeof(SoftmaxParams) == 36 + 4, "no padding");

struct NormParams {
  SplitParams split;
  tk_i32 center;
  tk_i32 segments;  // of norm_partial
  float count, epsilon;
};
static_assert(sizeof(NormParams) == 36 + 16, "no padding");

struct CumulativeParams {
  tk_divisor width;
  tk_i32 columns, n, inner;
  tk_i32 product, exclusive, reverse;
};
static_assert(sizeof(CumulativeParams) == 12 + 24, "no padding");

}  // namespace tk
