#include "formats/onnx/ops/ml_common.hpp"

#include <algorithm>
#include <array>

#include "ops/contract.hpp"
#include "ops/move.hpp"
#include "ops/softmax.hpp"

namespace treadle::onnx::ml {

using ops::PostTransform;

Tensor float_tensor(const std::vector<double>& values, const Shape& shape) {
  Tensor out(DType::F32, shape);
  std::transform(values.begin(), values.end(), out.mutable_span<float>().begin(),
                 [](double v) { return static_cast<float>(v); });
  return out;
}

Tensor float_vector(const std::vector<double>& values) {
  return float_tensor(values, Shape{static_cast<std::int64_t>(values.size())});
}

std::vector<double> required_floats(NodeContext& c, std::string_view attr) {
  auto values = c.floats_attr(attr);
  check(values.has_value(), ErrorKind::Parse, "attribute '{}' (floats) is required", attr);
  return *std::move(values);
}

ValueId as_f32(NodeContext& c, ValueId x) {
  const Fact& fact = c.graph().fact(x);
  check(fact.kind == Fact::Kind::Tensor && fact.dtype != DType::String && !is_complex(fact.dtype),
        ErrorKind::Type, "the input is {}, expected numbers", fact.str());
  return cast(c, x, DType::F32);
}

int rank_of_rows(NodeContext& c, ValueId x) {
  const int rank = rank_of(c, x);
  check(rank == 1 || rank == 2, ErrorKind::Shape, "the input has shape {}, expected [N, F] or [F]",
        str(shape_of(c, x)));
  return rank;
}

ValueId as_rows(NodeContext& c, ValueId x) {
  return rank_of_rows(c, x) == 1 ? unsqueeze(c, x, {0}) : x;
}

ValueId with_features(NodeContext& c, ValueId x, std::int64_t features) {
  SymShape shape = shape_of(c, x);
  check(!shape.empty(), ErrorKind::Shape, "the input is a scalar, expected {} features", features);
  check(!shape.back().is_const() || shape.back().is(features), ErrorKind::Shape,
        "the input has shape {}, the attributes are those of {} features", str(shape), features);
  shape.back() = features;
  return reshape(c, x, std::move(shape));
}

ValueId product(NodeContext& c, ValueId x, Tensor w) {
  x = with_features(c, x, w.shape().back());
  return c.add1(make_op<ops::Contract>(std::vector<std::string>{"mk", "nk"}, "mn"),
                {x, c.constant_value(std::move(w))});
}

Tensor class_labels(NodeContext& c, const std::string& ints) {
  const auto numbers = c.ints_attr(ints);
  const auto texts = c.strings_attr("classlabels_strings");
  const bool has_numbers = numbers && !numbers->empty(), has_texts = texts && !texts->empty();
  check(has_numbers != has_texts, ErrorKind::Parse,
        "attributes '{}' and 'classlabels_strings': expected labels in one of them", ints);
  return has_numbers ? vector_of(*numbers) : vector_of(*texts);
}

ValueId labels_at(NodeContext& c, const Tensor& labels, ValueId index) {
  return c.add1(make_op<ops::Gather>(0), {c.constant_value(labels), index});
}

ValueId top_class(NodeContext& c, ValueId scores) {
  const ValueId index = c.add1(make_op<ops::ArgReduce>(true, 1, false), {scores});
  return ops::squeeze(c.graph(), c.fresh_name(), index, {1});
}

ValueId above(NodeContext& c, ValueId s, double threshold) {
  const ValueId wins = cast(c, binary(c, BinaryFn::Greater, s, threshold), DType::I64);
  return ops::squeeze(c.graph(), c.fresh_name(), wins, {1});
}

PostTransform post_attr(NodeContext& c) {
  constexpr std::array<std::string_view, 5> kNames{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                                   "PROBIT"};
  const std::string name = c.string_attr("post_transform", "NONE");
  const auto at = std::find(kNames.begin(), kNames.end(), name);
  check(at != kNames.end(), ErrorKind::Parse, "attribute 'post_transform' is '{}'", name);
  return static_cast<PostTransform>(at - kNames.begin());
}

ValueId transformed(NodeContext& c, ValueId scores, PostTransform post) {
  switch (post) {
    case PostTransform::None:
      return scores;
    case PostTransform::Softmax:
      return c.add1(make_op<ops::Softmax>(std::vector<std::int64_t>{1}, false), {scores});
    case PostTransform::Logistic:
      return unary(c, UnaryFn::Sigmoid, scores);
    default:
      return c.add1(make_op<ops::ScoreTransform>(post), {scores});
  }
}

ValueId two_scores(NodeContext& c, ValueId s, PostTransform post, bool opposite) {
  const bool logistic = post == PostTransform::Logistic;
  ValueId other = unary(c, UnaryFn::Neg, s);
  if (!logistic && !opposite) other = binary(c, BinaryFn::Add, other, 1.0);
  const ValueId both = c.add1(make_op<ops::Concat>(1), {other, s});
  const bool transforms = logistic || post == PostTransform::Probit;
  return transforms ? transformed(c, both, post) : both;
}

}  // namespace treadle::onnx::ml
