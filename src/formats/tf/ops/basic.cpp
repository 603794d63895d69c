// Constants, shapes and casts.
#include "base/error.hpp"
#include "formats/tf/ops/operators.hpp"
#include "ops/axis.hpp"
#include "ops/cast.hpp"
#include "ops/range.hpp"
#include "ops/shape_of.hpp"

namespace treadle::tf {

std::vector<ValueId> import_const(NodeContext& c) {
  return {c.constant(c.tensor_attr("value"))};
}

std::vector<ValueId> import_identity(NodeContext& c) {
  return {c.in(0)};
}

std::vector<ValueId> import_cast(NodeContext& c) {
  return {ops::cast(c.graph(), c.fresh_name(), c.in(0), c.type_attr("DstT", DType::F32))};
}

std::vector<ValueId> import_shape(NodeContext& c) {
  const ValueId shape = c.add1(make_op<ops::ShapeOf>(), {c.in(0)});
  return {ops::cast(c.graph(), c.fresh_name(), shape, c.type_attr("out_type", DType::I32))};
}

std::vector<ValueId> import_rank(NodeContext& c) {
  return {c.constant(Tensor::scalar<std::int32_t>(c.fact(0).rank()))};
}

std::vector<ValueId> import_size(NodeContext& c) {
  const ValueId size = c.add1(make_op<ops::SizeOf>(), {c.in(0)});
  return {ops::cast(c.graph(), c.fresh_name(), size, c.type_attr("out_type", DType::I32))};
}

std::vector<ValueId> import_fill(NodeContext& c) {
  const auto dims = c.symbolic(0);
  ValueId value = c.in(1);
  check(c.fact(1).rank() == 0, ErrorKind::Shape, "input 1 'value' has shape {}, expected a scalar",
        str(c.fact(1).shape));
  value = ops::reshape(c.graph(), c.fresh_name(), value, SymShape(dims.size(), Dim(1)));
  return {c.add1(make_op<ops::Expand>(SymShape(dims.begin(), dims.end())), {value})};
}

namespace {

std::vector<ValueId> filled_like(NodeContext& c, double value) {
  const ValueId one = ops::scalar_like(c.graph(), c.fresh_name() + "/value", value, c.in(0));
  return {c.add1(make_op<ops::Expand>(c.fact(0).shape), {one})};
}

}  // namespace

std::vector<ValueId> import_zeros_like(NodeContext& c) {
  return filled_like(c, 0);
}
std::vector<ValueId> import_ones_like(NodeContext& c) {
  return filled_like(c, 1);
}

std::vector<ValueId> import_range(NodeContext& c) {
  auto length = ops::range_length(c.fact(0), c.fact(1), c.fact(2));
  const bool fresh = !length;
  if (fresh) length = c.graph().fresh_symbol("range");
  return {c.add1(make_op<ops::Range>(*length, fresh), {c.in(0), c.in(1), c.in(2)})};
}

}  // namespace treadle::tf
