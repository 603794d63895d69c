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

// Inputs boxes [B, 4], scores [B] (f32), max boxes (integer), IoU threshold, score threshold and
// sigma (f32), one element each. Best score first (of equals the lower index), the score of a box
// is multiplied with exp(−IoU² / (2 sigma)) for each kept one; a box whose score stays above the
// score threshold competes again, and is kept when no kept box is new to it (Bodla et al.,
// Soft-NMS, https://arxiv.org/abs/1704.04503, in the order of TensorFlow's
// non_max_suppression_op.cc). sigma 0: what overlaps more than the IoU threshold is dropped.
// Outputs: i64 [count] and the scores, f32 [count].
class SoftNonMaxSuppression final : public Operator {
 public:
  explicit SoftNonMaxSuppression(Dim n) : count(std::move(n)) {}
  Dim count;
  TREADLE_OPERATOR(SoftNonMaxSuppression);
};

}  // namespace treadle::ops
