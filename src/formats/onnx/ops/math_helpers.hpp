// Short forms of the graph-building helpers for importers of arithmetic.
#pragma once

#include "formats/onnx/importer.hpp"
#include "ops/axis.hpp"

namespace treadle::onnx {

using ops::BinaryFn;
using ops::ReduceFn;
using ops::UnaryFn;

using Axes = std::vector<std::int64_t>;

inline ValueId unary(NodeContext& c, UnaryFn fn, ValueId x, double a = 0, double b = 0) {
  return ops::unary(c.graph(), c.fresh_name(), fn, x, a, b);
}
inline ValueId binary(NodeContext& c, BinaryFn fn, ValueId a, ValueId b) {
  return ops::binary(c.graph(), c.fresh_name(), fn, a, b);
}
inline ValueId binary(NodeContext& c, BinaryFn fn, ValueId a, double b) {
  const std::string name = c.fresh_name();
  return ops::binary(c.graph(), name, fn, a, ops::scalar_like(c.graph(), name + "/b", b, a));
}
inline ValueId select(NodeContext& c, ValueId condition, ValueId a, ValueId b) {
  return ops::select(c.graph(), c.fresh_name(), condition, a, b);
}
inline ValueId cast(NodeContext& c, ValueId x, DType to) {
  return ops::cast(c.graph(), c.fresh_name(), x, to);
}
inline ValueId reduce(NodeContext& c, ReduceFn fn, ValueId x, Axes axes, bool keep_dims = true) {
  return ops::reduce(c.graph(), c.fresh_name(), fn, x, std::move(axes), keep_dims);
}
inline ValueId unsqueeze(NodeContext& c, ValueId x, Axes axes) {
  return ops::unsqueeze(c.graph(), c.fresh_name(), x, std::move(axes));
}

inline const SymShape& shape_of(NodeContext& c, ValueId x) {
  return c.graph().fact(x).shape;
}
inline DType dtype_of(NodeContext& c, ValueId x) {
  return c.graph().fact(x).dtype;
}
inline int rank_of(NodeContext& c, ValueId x) {
  return c.graph().fact(x).rank();
}

// x under another shape: a constant is reshaped in place of a node.
ValueId reshape(NodeContext& c, ValueId x, SymShape shape);
// x of shape s (rank r) as [s..., 1, ..., 1] so that, broadcast to `rank`, its axes begin at
// `axis`. Throws Shape error when axis + r exceeds the rank.
ValueId at_axis(NodeContext& c, ValueId x, std::int64_t axis, int rank);
// {first, …, last}.
Axes axis_range(std::int64_t first, std::int64_t last);

}  // namespace treadle::onnx
