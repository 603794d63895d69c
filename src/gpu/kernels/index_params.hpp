// Parameters of the kernels that read where indices or tables of positions say.
#pragma once

#include "gpu/dialect/types.hpp"

namespace tk {

// out[o, j, i] = x[o, indices[j], i]: x is [outer, size, inner], `many` indices. Counted in units.
struct GatherParams {
  tk_divisor inner, many;
  tk_i32 count, size;  // of the output; of the axis
};
static_assert(sizeof(GatherParams) == 24 + 8, "no padding");

enum { kGatherAxes = 6 };

// out[i] = x[Σ i·stride + indices[i]·axis_stride] over the shape of the indices, axis 0 fastest;
// axes beyond the rank have size 1.
struct GatherElementsParams {
  tk_divisor size[kGatherAxes];
  tk_i32 stride[kGatherAxes];  // 0 on the gathered axis
  tk_i32 axis_stride, limit, count, unused;
};
static_assert(sizeof(GatherElementsParams) == 72 + 24 + 16, "no padding");

// out[t, r] = x[batch(t) + Σ indices[t, k]·stride[k] + r]. Counted in units.
struct GatherNdParams {
  tk_divisor run, tuples;  // units a tuple; tuples a batch
  tk_i32 limit[kGatherAxes], stride[kGatherAxes];
  tk_i32 depth;         // of a tuple
  tk_i32 batch_stride;  // of x, from one batch to the next
  tk_i32 count, unused;
};
static_assert(sizeof(GatherNdParams) == 24 + 48 + 16, "no padding");

// y [outer, out_height, out_width, inner] from x with planes of `plane` vectors. Tables: tap k of
// row h is the row that starts at pixel rows[h·row_taps + k], and likewise for columns; a negative
// one says that the position is outside. Counted in vectors of V elements, or in units.
struct ResizeParams {
  tk_divisor inner, width, height;
  tk_i32 count, plane;
  tk_i32 row_taps, column_taps;
  tk_i32 columns_at;  // where the columns' tables begin
  float outside;
};
static_assert(sizeof(ResizeParams) == 36 + 24, "no padding");

}  // namespace tk
