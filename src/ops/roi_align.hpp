#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Inputs x [N, C, H, W], rois [R, 4] (x1, y1, x2, y2; dtype of x), batch indices [R] (integer):
// out [R, C, out_h, out_w]. Each cell is the mean (or, with `max`, the largest weighted corner) of
// ratio × ratio bilinear samples; ratio 0 means ceil(box size / output size). half_pixel shifts the
// boxes by −½ and leaves their sizes alone, otherwise these are at least 1.
class RoiAlign final : public Operator {
 public:
  std::int64_t out_h = 1, out_w = 1, ratio = 0;
  double scale = 1;
  bool half_pixel = true;
  bool max = false;
  TREADLE_OPERATOR(RoiAlign);
};

}  // namespace treadle::ops
