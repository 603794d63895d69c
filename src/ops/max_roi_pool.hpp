#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Inputs x [N, C, H, W] and rois [R, 5] (batch index, x1, y1, x2, y2; dtype of x), a float dtype:
// out [R, C, out_h, out_w]. The corners, times `scale` and rounded half away from zero, are the
// first and the last cell of a box of at least one cell; output cell i takes the largest element of
// the rows from floor(i · height / out_h) to ceil((i + 1) · height / out_h), computed in f32, that
// are inside the image, and 0 where there are none (Girshick, Fast R-CNN, section 2.1). A NaN wins.
class MaxRoiPool final : public Operator {
 public:
  std::int64_t out_h = 1, out_w = 1;
  double scale = 1;
  TREADLE_OPERATOR(MaxRoiPool);
};

}  // namespace treadle::ops
