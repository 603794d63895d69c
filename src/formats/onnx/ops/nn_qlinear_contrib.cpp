// com.microsoft operators over quantised tensors: dequantise, the float operator, quantise.
#include "base/error.hpp"
#include "formats/onnx/ops/nn_common.hpp"
#include "formats/onnx/ops/nn_pool.hpp"
#include "formats/onnx/ops/nn_quantize.hpp"
#include "ops/softmax.hpp"

namespace treadle::onnx {

namespace {

// Inputs i, i+1, i+2: a tensor, its scale and its zero point, which may be omitted.
ValueId dequantized(NodeContext& ctx, std::size_t i) {
  return nn::dequantize(ctx, ctx.in(i), ctx.in(i + 1), nn::optional_input(ctx, i + 2));
}

// y quantised by scale and zero point at inputs i and i+1; without one, to the dtype of input 0.
ValueId quantized(NodeContext& ctx, ValueId y, std::size_t i, std::size_t like = 0) {
  const ValueId zero_point = nn::optional_input(ctx, i + 1);
  const DType to =
      zero_point.present() ? nn::quantized_type(ctx, zero_point) : ctx.fact(like).dtype;
  return nn::quantize(ctx, y, ctx.in(i), zero_point, to);
}

std::vector<ValueId> qlinear_binary(NodeContext& ctx, ops::BinaryFn fn) {
  return {quantized(ctx, nn::binary(ctx, fn, dequantized(ctx, 0), dequantized(ctx, 3)), 6)};
}

std::vector<ValueId> qlinear_unary(NodeContext& ctx, ops::UnaryFn fn, double a = 0) {
  return {quantized(ctx, ops::unary(ctx.graph(), ctx.fresh_name(), fn, dequantized(ctx, 0), a), 3)};
}

}  // namespace

std::vector<ValueId> import_qlinear_add(NodeContext& ctx) {
  return qlinear_binary(ctx, ops::BinaryFn::Add);
}

std::vector<ValueId> import_qlinear_mul(NodeContext& ctx) {
  return qlinear_binary(ctx, ops::BinaryFn::Mul);
}

std::vector<ValueId> import_qlinear_sigmoid(NodeContext& ctx) {
  return qlinear_unary(ctx, ops::UnaryFn::Sigmoid);
}

std::vector<ValueId> import_qlinear_leaky_relu(NodeContext& ctx) {
  return qlinear_unary(ctx, ops::UnaryFn::LeakyRelu, ctx.float_attr("alpha", 0.01));
}

std::vector<ValueId> import_qlinear_softmax(NodeContext& ctx) {
  const int rank = ctx.fact(0).rank();
  const std::int64_t opset = ctx.int_attr("opset", std::nullopt);
  const std::int64_t axis = ops::normal_axis(ctx.int_attr("axis", opset < 13 ? 1 : -1), rank);
  // Before opset 13 softmax runs over all axes from `axis` on.
  const std::vector<std::int64_t> axes = nn::axes_from(axis, opset < 13 ? rank - axis : 1);
  const ValueId y = ctx.add1(make_op<ops::Softmax>(axes, false), {dequantized(ctx, 0)});
  return {quantized(ctx, y, 3)};
}

std::vector<ValueId> import_qlinear_average_pool(NodeContext& ctx) {
  auto op = nn::pool_from_attrs(ctx, ops::PoolKind::Average, nn::spatial_count(ctx, 0));
  op->count_include_pad = ctx.int_attr("count_include_pad", 0) != 0;
  if (ctx.int_attr("channels_last", 0) != 0) op->layout = ops::Layout::ChannelsLast;
  return {quantized(ctx, ctx.add1(std::move(op), {dequantized(ctx, 0)}), 3)};
}

std::vector<ValueId> import_qlinear_global_average_pool(NodeContext& ctx) {
  const int count = nn::spatial_count(ctx, 0);
  const std::int64_t first = ctx.int_attr("channels_last", 0) != 0 ? 1 : 2;
  const ValueId y = ops::reduce(ctx.graph(), ctx.fresh_name(), ops::ReduceFn::Mean,
                                dequantized(ctx, 0), nn::axes_from(first, count), true);
  return {quantized(ctx, y, 3)};
}

// Inputs condition, then x, scale, zero point of both, and scale and zero point of the result.
std::vector<ValueId> import_qlinear_where(NodeContext& ctx) {
  const ValueId y = ops::select(ctx.graph(), ctx.fresh_name(), ctx.in(0), dequantized(ctx, 1),
                                dequantized(ctx, 4));
  return {quantized(ctx, y, 7, 1)};
}

// Inputs y_scale, y_zp, then x, scale, zero point of each.
std::vector<ValueId> import_qlinear_concat(NodeContext& ctx) {
  check(ctx.inputs() >= 5 && (ctx.inputs() - 2) % 3 == 0, ErrorKind::Parse,
        "QLinearConcat has {} inputs, expected 2 and 3 for each tensor", ctx.inputs());
  std::vector<ValueId> parts;
  for (std::size_t i = 2; i < ctx.inputs(); i += 3) parts.push_back(dequantized(ctx, i));
  const std::int64_t axis =
      ops::normal_axis(ctx.int_attr("axis", std::nullopt), ctx.fact(2).rank());
  return {quantized(ctx, nn::concat(ctx, std::move(parts), axis), 0, 2)};
}

}  // namespace treadle::onnx
