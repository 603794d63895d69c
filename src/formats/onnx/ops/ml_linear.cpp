// ai.onnx.ml LinearRegressor and LinearClassifier.
#include "formats/onnx/ops/ml_common.hpp"

namespace treadle::onnx {

using namespace ml;

namespace {

// x·coefficientsᵀ + intercepts: [N, rows].
ValueId linear(NodeContext& c, std::int64_t rows, const std::vector<double>& coefficients,
               const std::optional<std::vector<double>>& intercepts) {
  const auto count = static_cast<std::int64_t>(coefficients.size());
  check(rows >= 1 && count > 0 && count % rows == 0, ErrorKind::Parse,
        "attribute 'coefficients' has {} entries, expected a multiple of {}", count, rows);
  const ValueId x = as_f32(c, as_rows(c, c.in(0)));
  const ValueId y = product(c, x, float_tensor(coefficients, Shape{rows, count / rows}));
  if (!intercepts) return y;
  check(static_cast<std::int64_t>(intercepts->size()) == rows, ErrorKind::Parse,
        "attribute 'intercepts' has {} entries, expected {}", intercepts->size(), rows);
  return binary(c, BinaryFn::Add, y, c.constant_value(float_tensor(*intercepts, Shape{1, rows})));
}

std::optional<std::vector<double>> intercepts_of(NodeContext& c) {
  auto values = c.floats_attr("intercepts");
  return values && values->empty() ? std::nullopt : std::move(values);
}

}  // namespace

std::vector<ValueId> import_linear_regressor(NodeContext& c) {
  const ValueId y =
      linear(c, c.int_attr("targets", 1), required_floats(c, "coefficients"), intercepts_of(c));
  return {transformed(c, y, post_attr(c))};
}

// 'multi_class' says how the model was trained and changes no answer.
std::vector<ValueId> import_linear_classifier(NodeContext& c) {
  const Tensor labels = class_labels(c, "classlabels_ints");
  const auto coefficients = required_floats(c, "coefficients");
  const auto intercepts = intercepts_of(c);
  // One row a class, or for two classes that of the second alone.
  std::int64_t rows = labels.elements();
  if (intercepts) {
    rows = static_cast<std::int64_t>(intercepts->size());
  } else if (rows == 2 && c.fact(0).rank() >= 1) {
    const Dim& features = c.fact(0).shape.back();
    if (features.is(static_cast<std::int64_t>(coefficients.size()))) rows = 1;
  }
  check(rows <= labels.elements() && (rows > 1 || labels.elements() <= 2), ErrorKind::Parse,
        "{} rows of coefficients for {} labels", rows, labels.elements());
  const auto post = post_attr(c);
  const ValueId scores = linear(c, rows, coefficients, intercepts);
  if (rows == 1 && labels.elements() == 2) {
    return {labels_at(c, labels, above(c, scores, 0)), two_scores(c, scores, post, false)};
  }
  return {labels_at(c, labels, top_class(c, scores)), transformed(c, scores, post)};
}

}  // namespace treadle::onnx
