#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Crops of images, each resized to height × width. Inputs f32 x [N, H, W, C], boxes f32 [B, 4]
// (y1, x1, y2, x2; 0 and 1 are the centres of the first and the last pixel), i32 image of each box
// [B]. Output f32 [B, height, width, C]. Corners of the box are sampled (one row or column: its
// middle), bilinear or `nearest`; a sample outside of the image is `extrapolation`.
class CropAndResize final : public Operator {
 public:
  Dim height, width;
  bool nearest = false;
  double extrapolation = 0;
  TREADLE_OPERATOR(CropAndResize);
};

}  // namespace treadle::ops
