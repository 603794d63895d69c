// Reductions, softmax and running sums.
#include <array>

#include "formats/onnx/ops/math_helpers.hpp"
#include "ops/cumulative.hpp"
#include "ops/dynamic_reduce.hpp"
#include "ops/softmax.hpp"

namespace treadle::onnx {
namespace {

struct Named {
  std::string_view op_type;
  ReduceFn fn;
};

constexpr std::array kReduce = {
    Named{"ReduceSum", ReduceFn::Sum},       Named{"ReduceMean", ReduceFn::Mean},
    Named{"ReduceProd", ReduceFn::Prod},     Named{"ReduceMin", ReduceFn::Min},
    Named{"ReduceMax", ReduceFn::Max},       Named{"ReduceSumSquare", ReduceFn::SumSquare},
    Named{"ReduceL1", ReduceFn::L1},         Named{"ReduceL2", ReduceFn::L2},
    Named{"ReduceLogSum", ReduceFn::LogSum}, Named{"ReduceLogSumExp", ReduceFn::LogSumExp},
};

ReduceFn reduce_fn(std::string_view op_type) {
  for (const Named& n : kReduce) {
    if (n.op_type == op_type) return n.fn;
  }
  fail(ErrorKind::Internal, "no reduction for {}", op_type);
}

// Axes that only the run knows: sizes that depend on them become symbols.
std::vector<ValueId> dynamic_reduce(NodeContext& c, ReduceFn fn, bool keep_dims, bool noop) {
  const Fact& x = c.fact(0);
  const Fact& axes = c.fact(1);
  check(axes.rank() == 1, ErrorKind::Shape, "input 1 'axes' has shape {}, expected one axis",
        str(axes.shape));
  auto op = std::make_shared<ops::DynamicReduce>();
  op->fn = fn;
  op->keep_dims = keep_dims;
  op->noop_with_empty_axes = noop;
  int rank = x.rank();
  if (!keep_dims) {
    check(axes.shape[0].is_const(), ErrorKind::Unsupported,
          "input 1 'axes' has an unknown number of elements and keepdims is 0: the output has no "
          "known rank");
    const std::int64_t count = axes.shape[0].value();
    check(count <= rank, ErrorKind::Shape, "input 1 'axes' has {} elements, input 0 has rank {}",
          count, rank);
    rank -= static_cast<int>(count);
  }
  for (int i = 0; i < rank; ++i) op->sizes.push_back(c.graph().fresh_symbol("reduced"));
  return {c.add1(std::move(op), {c.in(0), c.in(1)})};
}

// Before opset 13 the axes from `axis` on are taken together.
Axes softmax_axes(NodeContext& c) {
  const int rank = c.fact(0).rank();
  const bool old = c.opset() < 13;
  const std::int64_t axis = ops::normal_axis(c.int_attr("axis", old ? 1 : -1), rank);
  return old ? axis_range(axis, rank - 1) : Axes{axis};
}

// 1 at the first largest element along `axis`, 0 elsewhere.
ValueId hardmax(NodeContext& c, ValueId x, std::int64_t axis) {
  const ValueId top = reduce(c, ReduceFn::Max, x, {axis});
  const ValueId is_top = binary(c, BinaryFn::Equal, x, top);
  const ValueId nth =
      c.add1(make_op<ops::Cumulative>(ops::CumulativeFn::Sum, axis), {cast(c, is_top, DType::I64)});
  const ValueId first = binary(c, BinaryFn::Equal, nth, 1.0);
  return cast(c, binary(c, BinaryFn::And, first, is_top), dtype_of(c, x));
}

ValueId cumulative(NodeContext& c, std::int64_t axis) {
  const bool product = c.proto().op_type == "CumProd";
  return c.add1(
      make_op<ops::Cumulative>(product ? ops::CumulativeFn::Prod : ops::CumulativeFn::Sum, axis,
                               c.int_attr("exclusive", 0) != 0, c.int_attr("reverse", 0) != 0),
      {c.in(0)});
}

// An axis that only the run knows selects among all; one that is out of range is taken for the
// last.
ValueId cumulative_over_any(NodeContext& c) {
  const int rank = c.fact(0).rank();
  check(rank > 0, ErrorKind::Shape, "input 0 'x' has no axis");
  const SymShape& shape = c.fact(1).shape;
  check(shape.empty() || (shape.size() == 1 && shape[0].is(1)), ErrorKind::Shape,
        "input 1 'axis' has shape {}, expected one element", str(shape));
  ValueId y = cumulative(c, rank - 1);
  for (int axis = 0; axis < rank - 1; ++axis) {
    const ValueId from_start = binary(c, BinaryFn::Equal, c.in(1), axis);
    const ValueId from_end = binary(c, BinaryFn::Equal, c.in(1), axis - rank);
    y = select(c, binary(c, BinaryFn::Or, from_start, from_end), cumulative(c, axis), y);
  }
  return y;
}

}  // namespace

std::vector<ValueId> import_reduce(NodeContext& c) {
  const ReduceFn fn = reduce_fn(c.proto().op_type);
  const bool keep_dims = c.int_attr("keepdims", 1) != 0;
  const bool noop = c.int_attr("noop_with_empty_axes", 0) != 0;
  Axes axes;
  if (c.has(1)) {
    const SymShape& shape = c.fact(1).shape;
    const bool none = shape.size() == 1 && shape[0].is(0);
    if (!none) {
      const auto given = c.constant_ints(1);
      if (!given) return dynamic_reduce(c, fn, keep_dims, noop);
      axes = *given;
    }
  } else {
    axes = c.ints_attr("axes").value_or(Axes{});
  }
  const int rank = c.fact(0).rank();
  axes = ops::normal_axes(std::move(axes), rank);
  if (axes.empty() && !noop) axes = axis_range(0, rank - 1);
  if (axes.empty() && fn == ReduceFn::Sum) return {c.in(0)};
  return {reduce(c, fn, c.in(0), std::move(axes), keep_dims)};
}

std::vector<ValueId> import_arg_reduce(NodeContext& c) {
  const std::int64_t axis = ops::normal_axis(c.int_attr("axis", 0), c.fact(0).rank());
  const bool last = c.int_attr("select_last_index", 0) != 0;
  const bool max = c.proto().op_type == "ArgMax";
  const ValueId index = c.add1(make_op<ops::ArgReduce>(max, axis, last), {c.in(0)});
  if (c.int_attr("keepdims", 1) != 0) return {index};
  return {ops::squeeze(c.graph(), c.fresh_name(), index, {axis})};
}

std::vector<ValueId> import_softmax(NodeContext& c) {
  const bool log = c.proto().op_type == "LogSoftmax";
  return {c.add1(make_op<ops::Softmax>(softmax_axes(c), log), {c.in(0)})};
}

std::vector<ValueId> import_hardmax(NodeContext& c) {
  const Axes axes = softmax_axes(c);
  const ValueId x = c.in(0);
  if (axes.size() == 1) return {hardmax(c, x, axes[0])};
  const SymShape shape = shape_of(c, x);
  const auto split = shape.begin() + axes[0];
  SymShape flat = {elements(SymShape(shape.begin(), split)),
                   elements(SymShape(split, shape.end()))};
  return {reshape(c, hardmax(c, reshape(c, x, std::move(flat)), 1), shape)};
}

std::vector<ValueId> import_cumulative(NodeContext& c) {
  const auto axis = c.constant_ints(1);
  if (!axis) return {cumulative_over_any(c)};
  check(axis->size() == 1, ErrorKind::Shape, "input 1 'axis' has {} elements, expected 1",
        axis->size());
  return {cumulative(c, ops::normal_axis(axis->front(), c.fact(0).rank()))};
}

}  // namespace treadle::onnx
