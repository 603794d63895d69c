// Parameters of the kernels of copy.hpp. Sizes, bases and strides count elements of the kernel's
// type.
#pragma once

#include "gpu/dialect/types.hpp"

namespace tk {

enum { kCopyAxes = 6, kCopyPerThread = 4, kTile = 32, kTileRows = 8 };

// to[to_base + Σ i·to_stride] = from[from_base + Σ i·from_stride] for every index i of `size`, axis
// 0 fastest; axes beyond the rank have size 1. `count` is the product of the sizes. The sums of the
// strides' terms fit in 31 bits.
struct CopyParams {
  tk_i64 from_base, to_base;
  tk_divisor size[kCopyAxes];
  tk_i32 from_stride[kCopyAxes], to_stride[kCopyAxes];
  tk_i32 count, rank;
};
static_assert(sizeof(CopyParams) == 16 + 72 + 48 + 8, "no padding");

// to[to_base + Σ i·to_stride + j·to_rows + k] = from[from_base + Σ i·from_stride + k·from_rows + j]
// for j < rows, k < columns and each index i of `size`.
struct TransposeParams {
  tk_i64 from_base, to_base;
  tk_i32 rows, columns, from_rows, to_rows;
  tk_divisor row_tiles, column_tiles;
  tk_divisor size[kCopyAxes - 2];
  tk_i32 from_stride[kCopyAxes - 2], to_stride[kCopyAxes - 2];
};
static_assert(sizeof(TransposeParams) == 16 + 16 + 24 + 48 + 32, "no padding");

// to[i] = the leading bytes of `value` for i < count.
struct FillParams {
  tk_u32 value[4];
  tk_i64 count;
};
static_assert(sizeof(FillParams) == 24, "no padding");

}  // namespace tk
