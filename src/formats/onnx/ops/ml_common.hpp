// What the importers of ai.onnx.ml share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/onnx/ops/math_helpers.hpp"
#include "ops/score_transform.hpp"

namespace treadle::onnx::ml {

template <typename T>
Tensor vector_of(const std::vector<T>& values) {
  return Tensor::from<T>(Shape{static_cast<std::int64_t>(values.size())}, values);
}
// Elements as f32.
Tensor float_tensor(const std::vector<double>& values, const Shape& shape);
Tensor float_vector(const std::vector<double>& values);

// The floats attribute; Parse error when it is missing.
std::vector<double> required_floats(NodeContext& c, std::string_view attr);

// x, a number of any dtype, as f32.
ValueId as_f32(NodeContext& c, ValueId x);
// 1 or 2: of x [F] or [N, F]. Throws Shape error for other ranks.
int rank_of_rows(NodeContext& c, ValueId x);
// x [N, F]; a vector counts as one row. Throws Shape error for other ranks.
ValueId as_rows(NodeContext& c, ValueId x);
// x, whose last axis is to be of that size. Throws Shape error when it is known to be another.
ValueId with_features(NodeContext& c, ValueId x, std::int64_t features);
// x·wᵀ for x [N, F] and w [T, F].
ValueId product(NodeContext& c, ValueId x, Tensor w);

// The labels of classes, i64 or strings: the attribute `ints` or classlabels_strings. Throws Parse
// error unless exactly one of them is given and holds a label.
Tensor class_labels(NodeContext& c, const std::string& ints);
// labels[index] for index i64 [N].
ValueId labels_at(NodeContext& c, const Tensor& labels, ValueId index);
// The place of the largest of each row, the first of equals: i64 [N].
ValueId top_class(NodeContext& c, ValueId scores);
// 1 where s [N, 1] is above the threshold, else 0: i64 [N].
ValueId above(NodeContext& c, ValueId s, double threshold);

ops::PostTransform post_attr(NodeContext& c);
// The scores [N, C] after the transform.
ValueId transformed(NodeContext& c, ValueId scores, ops::PostTransform post);
// Scores [N, 2] of two classes from the one score s [N, 1] of the second, as ONNX Runtime 1.32
// gives them (the standard is silent): with LOGISTIC those of −s and s; else [1 − s, s], or [−s, s]
// when `opposite`, which only PROBIT transforms.
ValueId two_scores(NodeContext& c, ValueId s, ops::PostTransform post, bool opposite);

}  // namespace treadle::onnx::ml
