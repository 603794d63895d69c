// Losses over classes.
#include "formats/onnx/ops/math_helpers.hpp"
#include "formats/onnx/ops/nn_attention.hpp"
#include "ops/softmax.hpp"

namespace treadle::onnx {
namespace {

// [1, C, 1, …] of `rank` holding 0 … C−1 in the labels' dtype.
ValueId class_numbers(NodeContext& c, const Dim& classes, int rank, DType dtype) {
  return at_axis(c, cast(c, nn::counting(c, classes), dtype), 1, rank);
}

// True at the class of each label, [N, C, d…]; nowhere for ignored labels.
ValueId chosen_classes(NodeContext& c, ValueId log_prob, ValueId labels) {
  const SymShape shape = shape_of(c, log_prob);
  const int rank = rank_of(c, log_prob);
  check(rank >= 2, ErrorKind::Shape, "input 0 has shape {}, expected [N, C, …]", str(shape));
  check(rank_of(c, labels) == rank - 1, ErrorKind::Shape, "input 1 has shape {}, expected rank {}",
        str(shape_of(c, labels)), rank - 1);
  const ValueId label = unsqueeze(c, labels, {1});
  const ValueId numbers = class_numbers(c, shape[1], rank, dtype_of(c, labels));
  const ValueId chosen = binary(c, BinaryFn::Equal, numbers, label);
  if (!c.has_attr("ignore_index")) return chosen;
  const auto ignored = static_cast<double>(c.int_attr("ignore_index", 0));
  return binary(c, BinaryFn::And, chosen, binary(c, BinaryFn::NotEqual, label, ignored));
}

// `v` where `chosen`, else 0, summed over the classes: [N, d…].
ValueId pick(NodeContext& c, ValueId chosen, ValueId v) {
  const ValueId zero = ops::scalar_like(c.graph(), c.fresh_name(), 0, v);
  return reduce(c, ReduceFn::Sum, select(c, chosen, v, zero), {1}, false);
}

ValueId total(NodeContext& c, ReduceFn fn, ValueId v) {
  return reduce(c, fn, v, axis_range(0, rank_of(c, v) - 1), false);
}

// The loss for log probabilities [N, C, d…], with input 2 as optional class weights.
ValueId class_loss(NodeContext& c, ValueId log_prob) {
  const std::string reduction = c.string_attr("reduction", "mean");
  check(reduction == "none" || reduction == "sum" || reduction == "mean", ErrorKind::Parse,
        "attribute 'reduction' is '{}', expected none, sum or mean", reduction);
  const ValueId chosen = chosen_classes(c, log_prob, c.in(1));
  const int rank = rank_of(c, log_prob);
  ValueId weighted = unary(c, UnaryFn::Neg, log_prob);
  std::optional<ValueId> weights;
  if (c.has(2)) {
    weights = at_axis(c, c.in(2), 1, rank);
    weighted = binary(c, BinaryFn::Mul, weighted, *weights);
  }
  const ValueId loss = pick(c, chosen, weighted);
  if (reduction == "none") return loss;
  if (reduction == "sum") return total(c, ReduceFn::Sum, loss);
  if (!weights && !c.has_attr("ignore_index")) return total(c, ReduceFn::Mean, loss);
  if (!weights) weights = ops::scalar_like(c.graph(), c.fresh_name(), 1, log_prob);
  const ValueId weight = pick(c, chosen, *weights);
  return binary(c, BinaryFn::Div, total(c, ReduceFn::Sum, loss), total(c, ReduceFn::Sum, weight));
}

}  // namespace

std::vector<ValueId> import_nll_loss(NodeContext& c) {
  return {class_loss(c, c.in(0))};
}

std::vector<ValueId> import_softmax_cross_entropy(NodeContext& c) {
  const Axes classes = {ops::normal_axis(1, c.fact(0).rank())};
  const ValueId log_prob = c.add1(make_op<ops::Softmax>(classes, true), {c.in(0)});
  return {class_loss(c, log_prob), log_prob};
}

}  // namespace treadle::onnx
