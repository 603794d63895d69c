// Parameter structs of the kernels: the same bytes on the host and in every front end. Only 4- and
// 8-byte members, ordered so that there is no padding. Sizes and strides are in elements.
#pragma once

#include "gpu/dialect/types.hpp"
#include "gpu/kernels/index_params.hpp"
#include "gpu/kernels/rows_params.hpp"

namespace tk {

enum { kCopyAxes = 6 };

// to[to_base + Σ i·to_stride] = from[from_base + Σ i·from_stride] for every index i of `size`, axis
// 0 fastest; axes beyond the rank have size 1. `count` is the product of the sizes. The sums of the
// strides' terms fit in 31 bits.
struct CopyParams {
  tk_i64 from_base, to_base;
  tk_divisor size[kCopyAxes];
  tk_i32 from_stride[kCopyAxes], to_stride[kCopyAxes];
  tk_i32 count, unused;
};
static_assert(sizeof(CopyParams) == 16 + 72 + 48 + 8, "no padding");

}  // namespace tk
