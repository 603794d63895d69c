// Shape, Size, Reshape, Flatten, Expand, ConstantOfShape, EyeLike, Range.
#include "formats/onnx/ops/move_helpers.hpp"
#include "ops/dynamic_shape.hpp"
#include "ops/range.hpp"
#include "ops/shape_of.hpp"
#include "ops/slice_bounds.hpp"

namespace treadle::onnx {

std::vector<ValueId> import_shape(NodeContext& c) {
  const ValueId shape = c.add1(make_op<ops::ShapeOf>(), {c.in(0)});
  const std::int64_t rank = c.fact(0).rank();
  const std::int64_t start = c.int_attr("start", 0);
  const ops::ConcreteSlice s = ops::slice_bounds(rank, start, c.int_attr("end", rank), 1);
  return {slice(c, shape, 0, s.start, s.length)};
}

std::vector<ValueId> import_size(NodeContext& c) {
  return {c.add1(make_op<ops::SizeOf>(), {c.in(0)})};
}

std::vector<ValueId> import_reshape(NodeContext& c) {
  const ValueId x = c.in(0);
  const SymShape from = c.fact(0).shape;
  const bool allow_zero = c.int_attr("allowzero", 0) != 0;
  if (c.opset() < 5) {
    const auto shape = c.ints_attr("shape");
    check(shape.has_value(), ErrorKind::Parse, "attribute 'shape' (ints) is required");
    const std::vector<Dim> target(shape->begin(), shape->end());
    return {c.add1(make_op<ops::Reshape>(ops::reshape_target(from, target, false)), {x})};
  }
  const std::int64_t rank = element_count(c, 1, "shape");
  if (const auto target = c.symbolic(1)) {
    SymShape to = ops::reshape_target(from, *target, allow_zero);
    if (known_before(c, to, &c.fact(0))) return {c.add1(make_op<ops::Reshape>(std::move(to)), {x})};
    return {c.add1(make_op<ops::DynamicReshape>(std::move(to), allow_zero), {x, c.in(1)})};
  }
  SymShape to = fresh_sizes(c, "reshape", static_cast<std::size_t>(rank));
  return {c.add1(make_op<ops::DynamicReshape>(std::move(to), allow_zero), {x, c.in(1)})};
}

std::vector<ValueId> import_flatten(NodeContext& c) {
  const SymShape from = c.fact(0).shape;
  const auto rank = static_cast<std::int64_t>(from.size());
  std::int64_t axis = c.int_attr("axis", 1);
  check(axis >= -rank && axis <= rank, ErrorKind::Shape,
        "attribute 'axis' is {}, expected within [{}, {}]", axis, -rank, rank);
  if (axis < 0) axis += rank;
  const SymShape to{elements(SymShape(from.begin(), from.begin() + axis)),
                    elements(SymShape(from.begin() + axis, from.end()))};
  return {c.add1(make_op<ops::Reshape>(to), {c.in(0)})};
}

std::vector<ValueId> import_expand(NodeContext& c) {
  const auto count = static_cast<std::size_t>(element_count(c, 1, "shape"));
  const auto shape = c.symbolic(1);
  if (shape && known_before(c, *shape, &c.fact(0))) return {expand(c, c.in(0), *shape)};
  const SymShape from = c.fact(0).shape;
  SymShape to = shape ? *shape : fresh_sizes(c, "expand", std::max(count, from.size()));
  while (to.size() < from.size()) to.insert(to.begin(), 1);
  const std::size_t shift = to.size() - from.size();
  for (std::size_t i = shift; i < to.size(); ++i) {
    const Dim& have = from[i - shift];
    if (shape) {
      to[i] = broadcast(have, to[i]);
    } else if (i < to.size() - count || (have.is_const() && !have.is(1))) {
      to[i] = have;
    }
  }
  return {c.add1(make_op<ops::DynamicExpand>(std::move(to)), {c.in(0), c.in(1)})};
}

std::vector<ValueId> import_constant_of_shape(NodeContext& c) {
  const auto value = c.tensor_attr("value");
  check(!value || value->elements() == 1, ErrorKind::Shape,
        "attribute 'value' must hold one element, got {}", value ? value->elements() : 0);
  const ValueId x = c.constant_value(value ? value->reshaped({}) : Tensor::scalar(0.0f));
  const auto count = static_cast<std::size_t>(element_count(c, 0, "input"));
  const auto shape = c.symbolic(0);
  if (shape) {
    for (const Dim& d : *shape) {
      check(!d.is_const() || d.value() >= 0, ErrorKind::Shape, "input 0 holds the size {}",
            d.str());
    }
    if (known_before(c, *shape)) return {expand(c, x, *shape)};
  }
  SymShape to = shape ? *shape : fresh_sizes(c, "filled", count);
  return {c.add1(make_op<ops::DynamicExpand>(std::move(to)), {x, c.in(0)})};
}

std::vector<ValueId> import_eye_like(NodeContext& c) {
  const ValueId x = c.in(0);
  check(c.fact(0).rank() == 2, ErrorKind::Shape, "input 0 has rank {}, expected 2",
        c.fact(0).rank());
  const DType dtype = dtype_attr(c, "dtype", c.fact(0).dtype);
  const auto positions = [&](std::int64_t axis, std::int64_t first) {
    const Dim size = c.fact(0).shape[static_cast<std::size_t>(axis)];
    const ValueId start = int_constant(c, first);
    ValueId limit = size_value(c, x, axis);
    if (first != 0) limit = binary(c, BinaryFn::Add, limit, start);
    return c.add1(make_op<ops::Range>(size), {start, limit, int_constant(c, 1)});
  };
  const std::int64_t k = c.int_attr("k", 0);
  check(k > -(std::int64_t{1} << 40) && k < (std::int64_t{1} << 40), ErrorKind::Shape,
        "attribute 'k' is {}", k);
  const ValueId rows = unsqueeze(c, positions(0, k), {1});
  const ValueId columns = unsqueeze(c, positions(1, 0), {0});
  return {cast(c, binary(c, BinaryFn::Equal, rows, columns), dtype)};
}

std::vector<ValueId> import_range(NodeContext& c) {
  std::vector<ValueId> inputs{c.in(0), c.in(1), c.in(2)};
  if (const auto length = ops::range_length(c.fact(0), c.fact(1), c.fact(2))) {
    return {c.add1(make_op<ops::Range>(*length), std::move(inputs))};
  }
  const Dim length = c.graph().fresh_symbol("range");
  return {c.add1(make_op<ops::Range>(length, true), std::move(inputs))};
}

}  // namespace treadle::onnx
