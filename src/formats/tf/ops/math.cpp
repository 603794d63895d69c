// Arithmetic, reductions and matrix products.
#include <numeric>

#include "base/error.hpp"
#include "formats/tf/ops/operators.hpp"
#include "ops/axis.hpp"
#include "ops/checks.hpp"
#include "ops/contract.hpp"
#include "ops/einsum.hpp"
#include "ops/softmax.hpp"

namespace treadle::tf {
namespace {

std::vector<ValueId> softmax(NodeContext& c, bool log) {
  check(c.fact(0).rank() >= 1, ErrorKind::Shape, "input 0 is a scalar, expected at least one axis");
  return {c.add1(make_op<ops::Softmax>(std::vector<std::int64_t>{c.fact(0).rank() - 1}, log),
                 {c.in(0)})};
}

std::vector<ValueId> arg_reduce(NodeContext& c, bool max) {
  const auto axis = c.constant_ints(1);
  check(axis.size() == 1, ErrorKind::Shape, "input 1 'dimension' has {} elements, expected 1",
        axis.size());
  const std::int64_t at = ops::normal_axis(axis[0], c.fact(0).rank());
  const ValueId kept = c.add1(make_op<ops::ArgReduce>(max, at, false, true), {c.in(0)});
  const ValueId index = ops::squeeze(c.graph(), c.fresh_name(), kept, {at});
  return {ops::cast(c.graph(), c.fresh_name(), index, c.type_attr("output_type", DType::I64))};
}

}  // namespace

std::vector<ValueId> import_relu6(NodeContext& c) {
  return {c.unary(ops::UnaryFn::Clip, c.in(0), 0, 6)};
}

std::vector<ValueId> import_leaky_relu(NodeContext& c) {
  return {c.unary(ops::UnaryFn::LeakyRelu, c.in(0), c.float_attr("alpha", 0.2f))};
}

std::vector<ValueId> import_elu(NodeContext& c) {
  return {c.unary(ops::UnaryFn::Elu, c.in(0), 1)};
}

std::vector<ValueId> import_selu(NodeContext& c) {
  return {c.unary(ops::UnaryFn::Selu, c.in(0), 1.6732632423543772, 1.0507009873554805)};
}

// log(1 + x), near 0 as 2 atanh(x / (2 + x)) (Abramowitz and Stegun 4.6.22): 1 + x drops digits of
// x.
std::vector<ValueId> import_log1p(NodeContext& c) {
  const ValueId x = c.in(0);
  const ValueId ratio =
      c.binary(ops::BinaryFn::Div, x, c.binary(ops::BinaryFn::Add, x, c.scalar(2, x)));
  const ValueId small =
      c.binary(ops::BinaryFn::Mul, c.unary(ops::UnaryFn::Atanh, ratio), c.scalar(2, x));
  const ValueId large = c.unary(ops::UnaryFn::Log, c.binary(ops::BinaryFn::Add, x, c.scalar(1, x)));
  const ValueId near =
      c.binary(ops::BinaryFn::Less, c.unary(ops::UnaryFn::Abs, x), c.scalar(0.5, x));
  return {c.select(near, small, large)};
}

// exp(x) - 1, which Elu is for negative x, and -exp(x) (exp(-x) - 1) for others: no digits are lost
// near 0.
std::vector<ValueId> import_expm1(NodeContext& c) {
  const ValueId x = c.in(0);
  const ValueId reflected =
      c.unary(ops::UnaryFn::Elu, c.unary(ops::UnaryFn::Neg, c.unary(ops::UnaryFn::Abs, x)), 1);
  const ValueId positive = c.binary(ops::BinaryFn::Mul, c.unary(ops::UnaryFn::Neg, reflected),
                                    c.unary(ops::UnaryFn::Exp, x));
  const ValueId negative = c.binary(ops::BinaryFn::Less, x, c.scalar(0, x));
  return {c.select(negative, reflected, positive)};
}

std::vector<ValueId> import_add_n(NodeContext& c) {
  ValueId sum = c.in(0);
  for (std::size_t i = 1; i < c.inputs(); ++i) {
    const SymShape &first = c.fact(0).shape, &other = c.fact(i).shape;
    check(first.size() == other.size(), ErrorKind::Shape, "input {} has shape {}, expected {}", i,
          str(other), str(first));
    for (std::size_t a = 0; a < first.size(); ++a)
      ops::agree(first[a], other[a], fmt::format("axis {} of inputs 0 and {}", a, i));
    sum = c.binary(ops::BinaryFn::Add, sum, c.in(i));
  }
  return {sum};
}

std::vector<ValueId> import_bias_add(NodeContext& c) {
  ValueId bias = c.in(1);
  const int rank = c.fact(0).rank();
  check(rank >= 2 && c.fact(1).rank() == 1, ErrorKind::Shape,
        "inputs have shapes {} and {}, expected [N, …, C] and [C]", str(c.fact(0).shape),
        str(c.fact(1).shape));
  if (c.layout() == ops::Layout::ChannelsFirst) {
    SymShape shape(static_cast<std::size_t>(rank), Dim(1));
    shape[1] = c.fact(1).shape[0];
    bias = ops::reshape(c.graph(), c.fresh_name() + "/bias", bias, shape);
  }
  return {c.binary(ops::BinaryFn::Add, c.in(0), bias)};
}

std::vector<ValueId> import_matmul(NodeContext& c) {
  for (std::size_t i = 0; i < 2; ++i) {
    check(c.fact(i).rank() == 2, ErrorKind::Shape, "input {} has shape {}, expected a matrix", i,
          str(c.fact(i).shape));
  }
  const std::string a = c.bool_attr("transpose_a", false) ? "km" : "mk";
  const std::string b = c.bool_attr("transpose_b", false) ? "nk" : "kn";
  return {c.add1(make_op<ops::Contract>(std::vector<std::string>{a, b}, "mn"), {c.in(0), c.in(1)})};
}

std::vector<ValueId> import_batch_matmul(NodeContext& c) {
  ValueId operands[2] = {c.in(0), c.in(1)};
  const char* flags[2] = {"adj_x", "adj_y"};
  for (std::size_t i = 0; i < 2; ++i) {
    const int rank = c.fact(i).rank();
    check(rank >= 2, ErrorKind::Shape, "input {} has shape {}, expected at least two axes", i,
          str(c.fact(i).shape));
    if (!c.bool_attr(flags[i], false)) continue;
    Perm perm(static_cast<std::size_t>(rank));
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[static_cast<std::size_t>(rank) - 1], perm[static_cast<std::size_t>(rank) - 2]);
    operands[i] = ops::transpose(c.graph(), c.fresh_name(), operands[i], perm);
  }
  return {ops::matmul(c.graph(), c.fresh_name(), operands[0], operands[1])};
}

std::vector<ValueId> import_einsum(NodeContext& c) {
  return {ops::einsum(c.graph(), c.fresh_name(), c.string_attr("equation", ""), c.given())};
}

std::vector<ValueId> import_softmax(NodeContext& c) {
  return softmax(c, false);
}
std::vector<ValueId> import_log_softmax(NodeContext& c) {
  return softmax(c, true);
}

std::vector<ValueId> import_select(NodeContext& c) {
  ValueId condition = c.in(0);
  // Select (the first version) takes a vector that chooses rows.
  if (c.node().op == "Select" && c.fact(0).rank() == 1 && c.fact(1).rank() > 1) {
    SymShape shape(static_cast<std::size_t>(c.fact(1).rank()), Dim(1));
    shape[0] = c.fact(0).shape[0];
    condition = ops::reshape(c.graph(), c.fresh_name(), condition, shape);
  }
  return {c.select(condition, c.in(1), c.in(2))};
}

std::vector<ValueId> import_clip(NodeContext& c) {
  const ValueId low = c.binary(ops::BinaryFn::Max, c.in(0), c.in(1));
  return {c.binary(ops::BinaryFn::Min, low, c.in(2))};
}

std::vector<ValueId> reduce_over(NodeContext& c, ops::ReduceFn fn) {
  const auto axes = ops::normal_axes(c.constant_ints(1), c.fact(0).rank());
  return {
      ops::reduce(c.graph(), c.fresh_name(), fn, c.in(0), axes, c.bool_attr("keep_dims", false))};
}

std::vector<ValueId> import_arg_max(NodeContext& c) {
  return arg_reduce(c, true);
}
std::vector<ValueId> import_arg_min(NodeContext& c) {
  return arg_reduce(c, false);
}

}  // namespace treadle::tf
