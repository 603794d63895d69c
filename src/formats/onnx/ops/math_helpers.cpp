#include "formats/onnx/ops/math_helpers.hpp"

namespace treadle::onnx {

ValueId reshape(NodeContext& c, ValueId x, SymShape shape) {
  const Fact& fact = c.graph().fact(x);
  if (fact.value && is_const(shape)) return c.constant_value(fact.value->reshaped(concrete(shape)));
  return ops::reshape(c.graph(), c.fresh_name(), x, std::move(shape));
}

ValueId at_axis(NodeContext& c, ValueId x, std::int64_t axis, int rank) {
  SymShape shape = shape_of(c, x);
  check(axis >= 0 && axis + static_cast<std::int64_t>(shape.size()) <= rank, ErrorKind::Shape,
        "shape {} placed at axis {} does not fit rank {}", str(shape), axis, rank);
  shape.resize(static_cast<std::size_t>(rank - axis), Dim(1));
  return reshape(c, x, std::move(shape));
}

Axes axis_range(std::int64_t first, std::int64_t last) {
  Axes axes;
  for (std::int64_t a = first; a <= last; ++a) axes.push_back(a);
  return axes;
}

}  // namespace treadle::onnx
