// Concat, Tile, TopK, NonZero, Compress, Unique, Trilu, ReverseSequence.
#include <numeric>

#include "formats/onnx/ops/move_helpers.hpp"
#include "ops/compress.hpp"
#include "ops/dynamic_shape.hpp"
#include "ops/non_zero.hpp"
#include "ops/reverse_sequence.hpp"
#include "ops/top_k.hpp"
#include "ops/trilu.hpp"
#include "ops/unique.hpp"

namespace treadle::onnx {
namespace {

std::optional<std::int64_t> optional_axis(NodeContext& c) {
  if (!c.has_attr("axis")) return std::nullopt;
  return axis_attr(c, 0, c.fact(0).rank());
}

// Opset 1: inputs x, tiles, axis; the repeats of all axes are worked out as a tensor.
std::vector<ValueId> tile_one_axis(NodeContext& c) {
  for (std::size_t i = 1; i <= 2; ++i) {
    check(elements(c.fact(i).shape).is(1), ErrorKind::Shape,
          "inputs 'tiles' and 'axis' must hold one element each, input {} is {}", i,
          c.fact(i).str());
  }
  const auto rank = static_cast<std::size_t>(c.fact(0).rank());
  const auto input = [&](std::size_t i) { return reshape(c, cast(c, c.in(i), DType::I64), {1}); };
  std::vector<std::int64_t> places(rank);
  std::iota(places.begin(), places.end(), 0);
  const ValueId here = binary(c, BinaryFn::Equal, ints_constant(c, places), input(2));
  const ValueId repeats = select(c, here, input(1), ints_constant(c, {1}));
  if (const auto& known = c.graph().fact(repeats).value) {
    const auto values = known->to_i64();
    return {c.add1(make_op<ops::Tile>(SymShape(values.begin(), values.end())), {c.in(0)})};
  }
  SymShape sizes = fresh_sizes(c, "tiled", rank);
  return {c.add1(make_op<ops::DynamicTile>(std::move(sizes)), {c.in(0), repeats})};
}

}  // namespace

std::vector<ValueId> import_concat(NodeContext& c) {
  const std::optional<std::int64_t> fallback =
      c.opset() < 4 ? std::optional<std::int64_t>(1) : std::nullopt;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < c.inputs(); ++i) inputs.push_back(c.in(i));
  check(!inputs.empty(), ErrorKind::Parse, "input 0 is required");
  const std::int64_t axis = ops::normal_axis(c.int_attr("axis", fallback), c.fact(0).rank());
  if (inputs.size() == 1) return {inputs[0]};
  return {c.add1(make_op<ops::Concat>(axis), std::move(inputs))};
}

std::vector<ValueId> import_tile(NodeContext& c) {
  if (c.opset() < 6) return tile_one_axis(c);
  const auto repeats = c.symbolic(1);
  if (repeats && known_before(c, *repeats, &c.fact(0))) {
    return {c.add1(make_op<ops::Tile>(*repeats), {c.in(0)})};
  }
  SymShape sizes = fresh_sizes(c, "tiled", c.fact(0).shape.size());
  return {c.add1(make_op<ops::DynamicTile>(std::move(sizes)), {c.in(0), c.in(1)})};
}

std::vector<ValueId> import_top_k(NodeContext& c) {
  const std::int64_t axis = axis_attr(c, -1, c.fact(0).rank());
  const bool largest = c.int_attr("largest", 1) != 0;
  if (c.opset() < 10) {
    const Dim k = c.int_attr("k", {});
    return c.add(make_op<ops::TopK>(axis, k, largest), {c.in(0)});
  }
  const auto k = c.symbolic(1);
  check(!k || k->size() == 1, ErrorKind::Shape, "input 1 'K' must hold one element, got {}",
        k ? k->size() : 0);
  if (k && known_before(c, *k, &c.fact(0))) {
    return c.add(make_op<ops::TopK>(axis, k->front(), largest), {c.in(0)});
  }
  const Dim size = k ? k->front() : c.graph().fresh_symbol("top");
  return c.add(make_op<ops::TopK>(axis, size, largest, true), {c.in(0), c.in(1)});
}

std::vector<ValueId> import_non_zero(NodeContext& c) {
  return {c.add1(make_op<ops::NonZero>(c.graph().fresh_symbol("nonzero")), {c.in(0)})};
}

std::vector<ValueId> import_compress(NodeContext& c) {
  const Dim count = c.graph().fresh_symbol("compressed");
  return {c.add1(make_op<ops::Compress>(optional_axis(c), count), {c.in(0), c.in(1)})};
}

std::vector<ValueId> import_unique(NodeContext& c) {
  const bool sorted = c.int_attr("sorted", 1) != 0;
  const Dim count = c.graph().fresh_symbol("unique");
  return c.add(make_op<ops::Unique>(optional_axis(c), sorted, count), {c.in(0)});
}

std::vector<ValueId> import_trilu(NodeContext& c) {
  const bool upper = c.int_attr("upper", 1) != 0;
  if (!c.has(1)) return {c.add1(make_op<ops::Trilu>(upper, 0), {c.in(0)})};
  if (const auto k = c.constant_ints(1)) {
    check(k->size() == 1, ErrorKind::Shape, "input 1 'k' must hold one element, got {}", k->size());
    return {c.add1(make_op<ops::Trilu>(upper, k->front()), {c.in(0)})};
  }
  return {c.add1(make_op<ops::Trilu>(upper, 0), {c.in(0), c.in(1)})};
}

std::vector<ValueId> import_reverse_sequence(NodeContext& c) {
  const int rank = c.fact(0).rank();
  const std::int64_t time = ops::normal_axis(c.int_attr("time_axis", 0), rank);
  const std::int64_t batch = ops::normal_axis(c.int_attr("batch_axis", 1), rank);
  return {c.add1(make_op<ops::ReverseSequence>(time, batch), {c.in(0), c.in(1)})};
}

}  // namespace treadle::onnx
