// Gather, GatherElements, GatherND, Scatter, ScatterElements, ScatterND, TensorScatter, OneHot.
#include "formats/onnx/ops/move_helpers.hpp"
#include "ops/gather_elements.hpp"
#include "ops/gather_nd.hpp"
#include "ops/move.hpp"
#include "ops/one_hot.hpp"
#include "ops/scatter_elements.hpp"
#include "ops/scatter_nd.hpp"
#include "ops/tensor_scatter.hpp"

namespace treadle::onnx {
namespace {

ops::ScatterReduce reduction(NodeContext& c) {
  const std::string r = c.string_attr("reduction", "none");
  if (r == "none") return ops::ScatterReduce::None;
  if (r == "add") return ops::ScatterReduce::Add;
  if (r == "mul") return ops::ScatterReduce::Mul;
  if (r == "min") return ops::ScatterReduce::Min;
  if (r == "max") return ops::ScatterReduce::Max;
  fail(ErrorKind::Parse, "attribute 'reduction' is '{}', expected none, add, mul, min or max", r);
}

}  // namespace

std::vector<ValueId> import_gather(NodeContext& c) {
  return {c.add1(make_op<ops::Gather>(axis_attr(c, 0, c.fact(0).rank())), {c.in(0), c.in(1)})};
}

std::vector<ValueId> import_gather_elements(NodeContext& c) {
  const std::int64_t axis = axis_attr(c, 0, c.fact(0).rank());
  return {c.add1(make_op<ops::GatherElements>(axis), {c.in(0), c.in(1)})};
}

std::vector<ValueId> import_gather_nd(NodeContext& c) {
  return {c.add1(make_op<ops::GatherNd>(c.int_attr("batch_dims", 0)), {c.in(0), c.in(1)})};
}

std::vector<ValueId> import_scatter_elements(NodeContext& c) {
  const std::int64_t axis = axis_attr(c, 0, c.fact(0).rank());
  return {c.add1(make_op<ops::ScatterElements>(axis, reduction(c)), {c.in(0), c.in(1), c.in(2)})};
}

std::vector<ValueId> import_scatter_nd(NodeContext& c) {
  return {c.add1(make_op<ops::ScatterNd>(reduction(c)), {c.in(0), c.in(1), c.in(2)})};
}

std::vector<ValueId> import_tensor_scatter(NodeContext& c) {
  const std::int64_t axis = axis_attr(c, -2, c.fact(0).rank());
  const std::string mode = c.string_attr("mode", "linear");
  check(mode == "linear" || mode == "circular", ErrorKind::Parse, "attribute 'mode' is '{}'", mode);
  std::vector<ValueId> inputs{c.in(0), c.in(1)};
  if (c.has(2)) inputs.push_back(c.in(2));
  return {c.add1(make_op<ops::TensorScatter>(axis, mode == "circular"), std::move(inputs))};
}

std::vector<ValueId> import_one_hot(NodeContext& c) {
  const std::int64_t axis = axis_attr(c, -1, c.fact(0).rank() + 1);
  const ValueId indices = is_integer(c.fact(0).dtype) ? c.in(0) : cast(c, c.in(0), DType::I64);
  const ValueId depth = cast(c, c.in(1), DType::I64);
  const Fact& f = c.graph().fact(depth);
  const auto known = f.symbolic();
  if (known && known->size() == 1 && known_before(c, *known, &c.fact(0))) {
    return {c.add1(make_op<ops::OneHot>(axis, known->front()), {indices, c.in(2)})};
  }
  const Dim size = known && known->size() == 1 ? known->front() : c.graph().fresh_symbol("depth");
  return {c.add1(make_op<ops::OneHot>(axis, size, true), {indices, c.in(2), depth})};
}

}  // namespace treadle::onnx
