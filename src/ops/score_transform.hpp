#pragma once

#include <cstdint>
#include <span>

#include "graph/operator.hpp"

namespace treadle::ops {

// What ai.onnx.ml does to the scores of a row: nothing; softmax; 1/(1 + e^−s) each; softmax that
// leaves out zeros, which stay; the quantile function of the normal distribution each.
enum class PostTransform : std::uint8_t { None, Softmax, Logistic, SoftmaxZero, Probit };

void transform_scores(std::span<double> row, PostTransform post);

// The scores of each row along the last axis after the transform `post`. f32 and f64, computed in
// f64.
class ScoreTransform final : public Operator {
 public:
  explicit ScoreTransform(PostTransform p) : post(p) {}
  PostTransform post;
  TREADLE_OPERATOR(ScoreTransform);
};

}  // namespace treadle::ops
