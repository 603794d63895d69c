#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Inputs boxes [N, B, 4] (f32), scores [N, C, B] (f32), optional max boxes a class (i64), optional
// IoU threshold and score threshold (f32), one element each. Per batch and class, best score first
// (of equals the lower index), a box is kept when its score is above the score threshold and its
// IoU with each kept one is at most the IoU threshold. Output i64 [count, 3]: batch, class, box.
// Boxes are two opposite corners (y1, x1, y2, x2), or with `center` (x, y, width, height). An
// absent maximum means 0 boxes. `count` is a symbol that this operator introduces.
class NonMaxSuppression final : public Operator {
 public:
  NonMaxSuppression(bool center_boxes, Dim n) : center(center_boxes), count(std::move(n)) {}
  bool center;
  Dim count;
  TREADLE_OPERATOR(NonMaxSuppression);
};

}  // namespace treadle::ops
