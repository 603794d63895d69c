// ai.onnx.ml SVMRegressor and SVMClassifier.
#include <numeric>

#include "formats/onnx/ops/ml_common.hpp"
#include "ops/one_versus_one.hpp"

namespace treadle::onnx {

using namespace ml;
using ops::PostTransform;

namespace {

// LIBSVM keeps the probabilities of pairs that far from 0 and 1.
constexpr double kLeastProbability = 1e-7;

Tensor matrix(const std::vector<double>& values, std::int64_t rows, std::string_view attr) {
  const auto count = static_cast<std::int64_t>(values.size());
  check(rows > 0 && count > 0 && count % rows == 0, ErrorKind::Parse,
        "attribute '{}' has {} entries, expected a multiple of {}", attr, count, rows);
  return float_tensor(values, Shape{rows, count / rows});
}

// |x − v|² of each row and vector, in f64: the difference of large squares.
ValueId squared_distances(NodeContext& c, ValueId x, const Tensor& vectors) {
  x = cast(c, with_features(c, x, vectors.shape()[1]), DType::F64);
  const ValueId v = cast(c, c.constant_value(vectors), DType::F64);
  const ValueId dot = ops::matmul(c.graph(), c.fresh_name(), x,
                                  ops::transpose(c.graph(), c.fresh_name(), v, {1, 0}));
  const ValueId x2 = reduce(c, ReduceFn::SumSquare, x, {1});
  const ValueId v2 = reduce(c, ReduceFn::SumSquare, v, {1}, false);
  const ValueId sum = binary(c, BinaryFn::Add, x2, v2);
  const ValueId d = binary(c, BinaryFn::Add, sum, binary(c, BinaryFn::Mul, dot, -2.0));
  return cast(c, binary(c, BinaryFn::Max, d, 0.0), DType::F32);
}

// The kernel of each row of x and each support vector: [N, S].
ValueId kernel(NodeContext& c, ValueId x, const Tensor& vectors) {
  const std::string type = c.string_attr("kernel_type", "LINEAR");
  if (type == "LINEAR") return product(c, x, vectors);
  check(type == "POLY" || type == "RBF" || type == "SIGMOID", ErrorKind::Parse,
        "attribute 'kernel_type' is '{}', expected LINEAR, POLY, RBF or SIGMOID", type);
  const auto p = required_floats(c, "kernel_params");
  check(p.size() == 3, ErrorKind::Parse,
        "attribute 'kernel_params' has {} entries, expected gamma, coef0 and degree", p.size());
  if (type == "RBF") {
    return unary(c, UnaryFn::Exp,
                 binary(c, BinaryFn::Mul, squared_distances(c, x, vectors), -p[0]));
  }
  const ValueId scaled = binary(c, BinaryFn::Mul, product(c, x, vectors), p[0]);
  const ValueId shifted = binary(c, BinaryFn::Add, scaled, p[1]);
  return type == "POLY" ? binary(c, BinaryFn::Pow, shifted, p[2])
                        : unary(c, UnaryFn::Tanh, shifted);
}

// Without support vectors the coefficients are those of a linear function of x itself.
ValueId without_vectors(NodeContext& c, ValueId x, const std::vector<double>& coefficients,
                        std::int64_t rows) {
  const std::string type = c.string_attr("kernel_type", "LINEAR");
  check(type == "LINEAR", ErrorKind::Unsupported, "kernel '{}' without support vectors", type);
  return product(c, x, matrix(coefficients, rows, "coefficients"));
}

std::vector<double> probability_attr(NodeContext& c, const char* attr, std::size_t pairs) {
  auto values = required_floats(c, attr);
  check(values.size() == pairs, ErrorKind::Parse, "attribute '{}' has {} entries, expected {}",
        attr, values.size(), pairs);
  return values;
}

// Of each class, from the decision values of pairs: 1/(1 + e^(a·value + b)), coupled.
ValueId probabilities(NodeContext& c, ValueId values, std::size_t pairs, std::int64_t classes) {
  const auto a = probability_attr(c, "prob_a", pairs), b = probability_attr(c, "prob_b", pairs);
  const ValueId scaled = binary(c, BinaryFn::Mul, values, c.constant_value(float_vector(a)));
  const ValueId s = binary(c, BinaryFn::Add, scaled, c.constant_value(float_vector(b)));
  const ValueId p = unary(c, UnaryFn::Sigmoid, unary(c, UnaryFn::Neg, s));
  const ValueId clipped = unary(c, UnaryFn::Clip, p, kLeastProbability, 1 - kLeastProbability);
  return c.add1(make_op<ops::PairwiseCoupling>(classes), {clipped});
}

}  // namespace

std::vector<ValueId> import_svm_regressor(NodeContext& c) {
  const ValueId x = as_f32(c, as_rows(c, c.in(0)));
  const auto coefficients = required_floats(c, "coefficients");
  const auto rho = required_floats(c, "rho");
  check(rho.size() == 1, ErrorKind::Parse, "attribute 'rho' has {} entries, expected 1",
        rho.size());
  const std::int64_t supports = c.int_attr("n_supports", 0);
  check(supports >= 0, ErrorKind::Parse, "attribute 'n_supports' is {}", supports);
  ValueId y;
  if (supports == 0) {
    y = without_vectors(c, x, coefficients, 1);
  } else {
    const Tensor vectors =
        matrix(required_floats(c, "support_vectors"), supports, "support_vectors");
    check(static_cast<std::int64_t>(coefficients.size()) == supports, ErrorKind::Parse,
          "attribute 'coefficients' has {} entries, expected {}", coefficients.size(), supports);
    y = product(c, kernel(c, x, vectors), matrix(coefficients, 1, "coefficients"));
  }
  y = binary(c, BinaryFn::Add, y, rho[0]);
  if (c.int_attr("one_class", 0) == 0) return {transformed(c, y, post_attr(c))};
  // 1 where it is inside, else −1.
  const ValueId inside = cast(c, binary(c, BinaryFn::Greater, y, 0.0), DType::F32);
  return {binary(c, BinaryFn::Add, binary(c, BinaryFn::Mul, inside, 2.0), -1.0)};
}

// What becomes of the scores of two classes follows ONNX Runtime 1.32, as the standard is silent.
std::vector<ValueId> import_svm_classifier(NodeContext& c) {
  const Tensor labels = class_labels(c, "classlabels_ints");
  const ValueId x = as_f32(c, as_rows(c, c.in(0)));
  const auto coefficients = required_floats(c, "coefficients");
  const auto rho = required_floats(c, "rho");
  const auto post = post_attr(c);
  const auto counts = c.ints_attr("vectors_per_class");
  if (!counts || counts->empty()) {
    check(!rho.empty(), ErrorKind::Parse, "attribute 'rho' is empty");
    // ONNX Runtime adds the first one to all classes, however many there are; so does this.
    const ValueId scores =
        binary(c, BinaryFn::Add, without_vectors(c, x, coefficients, labels.elements()), rho[0]);
    return {labels_at(c, labels, top_class(c, scores)), transformed(c, scores, post)};
  }
  const auto classes = static_cast<std::int64_t>(counts->size());
  check(classes == labels.elements() && classes >= 2, ErrorKind::Parse,
        "attribute 'vectors_per_class' has {} entries for {} labels", classes, labels.elements());
  const Tensor weights = matrix(coefficients, classes - 1, "coefficients");
  const Tensor vectors =
      matrix(required_floats(c, "support_vectors"), weights.shape()[1], "support_vectors");
  const std::size_t pairs = rho.size();
  auto op = make_op<ops::OneVersusOne>(*counts, weights, rho);
  const auto out = c.add(std::move(op), {kernel(c, x, vectors)});
  const ValueId label = labels_at(c, labels, out[1]);
  if (c.has_attr("prob_a")) {
    return {label, transformed(c, probabilities(c, out[0], pairs, classes), post)};
  }
  if (classes > 2) return {label, transformed(c, out[0], post)};
  return {label, two_scores(c, out[0], post, post == PostTransform::None)};
}

}  // namespace treadle::onnx
