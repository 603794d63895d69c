// Parameters of the kernels of pool.hpp. Axes in the order depth, height, width.
#pragma once

#include "gpu/dialect/types.hpp"

namespace tk {

enum PoolDivide {
  kPoolSum,     // not divided
  kPoolInside,  // by the cells inside the input
  kPoolPadded   // by the cells inside the padded input
};

// Strides count elements. `columns` are vectors of neighbouring channels (1 where channels are not
// last); outputs are counted columns fastest, then in blocks along the width, height, depth,
// images. Images are batch elements, or their planes where channels are not last.
struct PoolParams {
  tk_i64 from_image, to_image;
  tk_divisor columns, blocks, height, depth;
  tk_divisor dilation[3];
  tk_i32 count, width;  // threads; outputs along the width
  tk_i32 in[3], window[3], stride[3], before[3];
  tk_i32 padded[3];  // in + after
  tk_i32 from_stride[3], to_stride[3];
  tk_i32 divide;
  // The flat index of an input cell: position · index_stride + (image · image_channels + channel) ·
  // plane.
  tk_i32 index_stride[3], image_channels, plane;
};
static_assert(sizeof(PoolParams) == 16 + 48 + 36 + 8 + 84 + 4 + 20, "no padding");

}  // namespace tk
