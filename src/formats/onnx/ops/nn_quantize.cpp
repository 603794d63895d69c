// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.
#include "formats/onnx/ops/nn_quantize.hpp"

#include "base/error.hpp"
#include "formats/onnx/ops/nn_common.hpp"
#include "formats/onnx/types.hpp"
#include "ops/quantize.hpp"

namespace treadle::onnx {

namespace {

// A value of one axis as a scalar; a run with another size than 1 is an error.
ValueId as_one(NodeContext& ctx, ValueId v) {
  const SymShape& shape = ctx.graph().fact(v).shape;
  return shape.size() == 1 && !shape[0].is_const() ? nn::reshape(ctx, v, {}) : v;
}

// x, scale and zero point as the core operators want them.
std::vector<ValueId> quantisation_inputs(NodeContext& ctx, ValueId x, ValueId scale,
                                         ValueId zero_point, bool blocked) {
  if (!blocked) scale = nn::as_scalar(ctx, scale);
  if (!zero_point.present()) return {x, scale};
  if (!blocked) {
    zero_point = nn::as_scalar(ctx, zero_point);
    // Both have the same shape: where the size of one is a symbol, the other one tells it.
    const Graph& g = ctx.graph();
    const bool one = g.fact(scale).rank() == 0 || g.fact(zero_point).rank() == 0;
    if (one) scale = as_one(ctx, scale);
    if (one) zero_point = as_one(ctx, zero_point);
  }
  return {x, scale, zero_point};
}

}  // namespace

ValueId nn::dequantize(NodeContext& ctx, ValueId x, ValueId scale, ValueId zero_point,
                       std::int64_t axis, std::int64_t block_size, std::optional<DType> to) {
  auto op = std::make_shared<ops::DequantizeLinear>();
  op->to = to.value_or(ctx.graph().fact(scale).dtype);
  op->axis = axis;
  op->block_size = block_size;
  return ctx.add1(std::move(op), quantisation_inputs(ctx, x, scale, zero_point, block_size > 0));
}

ValueId nn::quantize(NodeContext& ctx, ValueId x, ValueId scale, ValueId zero_point, DType to) {
  auto op = std::make_shared<ops::QuantizeLinear>();
  op->to = to;
  return ctx.add1(std::move(op), quantisation_inputs(ctx, x, scale, zero_point, false));
}

DType nn::quantized_type(NodeContext& ctx, ValueId zero_point) {
  return zero_point.present() ? ctx.graph().fact(zero_point).dtype : DType::U8;
}

namespace {

// The quantised axis; it has no meaning, and may be out of range, for a scale of one element.
std::int64_t axis_attr(NodeContext& ctx) {
  const Graph& g = ctx.graph();
  const SymShape& scale = g.fact(ctx.in(1)).shape;
  const int rank = ctx.fact(0).rank();
  bool one = true;
  for (const Dim& d : scale) one = one && d.is(1);
  const std::int64_t axis = ctx.int_attr("axis", 1);
  if (ctx.int_attr("block_size", 0) == 0 && (one || rank == 1)) return 0;
  return ops::normal_axis(axis, rank);
}

std::int64_t block_attr(NodeContext& ctx) {
  const std::int64_t block = ctx.int_attr("block_size", 0);
  check(block >= 0, ErrorKind::Parse, "attribute 'block_size' is {}, expected no negative number",
        block);
  return block;
}

}  // namespace

std::vector<ValueId> import_quantize_linear(NodeContext& ctx) {
  const ValueId zero_point = nn::optional_input(ctx, 2);
  DType to = nn::quantized_type(ctx, zero_point);
  if (const std::int64_t type = ctx.int_attr("output_dtype", 0); type != 0) {
    const DType declared = dtype_of_onnx(type);
    check(!zero_point.present() || declared == to, ErrorKind::Type,
          "attribute 'output_dtype' is {}, the zero point has dtype {}", name_of(declared),
          name_of(to));
    to = declared;
  }
  auto op = std::make_shared<ops::QuantizeLinear>();
  op->to = to;
  op->axis = axis_attr(ctx);
  op->block_size = block_attr(ctx);
  op->saturate = ctx.int_attr("saturate", 1) != 0;
  if (const std::int64_t type = ctx.int_attr("precision", 0); type != 0) {
    op->precision = dtype_of_onnx(type);
  } else if (is_float(ctx.fact(1).dtype)) {
    op->precision = ctx.fact(1).dtype;
  }
  const bool blocked = op->block_size > 0;
  return {
      ctx.add1(std::move(op), quantisation_inputs(ctx, ctx.in(0), ctx.in(1), zero_point, blocked))};
}

std::vector<ValueId> import_dequantize_linear(NodeContext& ctx) {
  std::optional<DType> to;
  if (const std::int64_t type = ctx.int_attr("output_dtype", 0); type != 0)
    to = dtype_of_onnx(type);
  check(to || ctx.fact(1).dtype != DType::F8E8M0, ErrorKind::Parse,
        "attribute 'output_dtype' is required with a scale of f8e8m0");
  return {nn::dequantize(ctx, ctx.in(0), ctx.in(1), nn::optional_input(ctx, 2), axis_attr(ctx),
                         block_attr(ctx), to)};
}

// y_scale = (max(0, max x) − min(0, min x)) / 255, or 1 for an x of zeros; zero point
// = saturate(round(−min / y_scale)).
std::vector<ValueId> import_dynamic_quantize_linear(NodeContext& ctx) {
  Graph& g = ctx.graph();
  const ValueId x = ctx.in(0);
  const auto axes = nn::axes_from(0, g.fact(x).rank());
  const ValueId zero = nn::f32(ctx, 0);
  const auto extreme = [&](ops::ReduceFn reduce, ops::BinaryFn fn) {
    return nn::binary(ctx, fn, ops::reduce(g, ctx.fresh_name(), reduce, x, axes, false), zero);
  };
  const ValueId top = extreme(ops::ReduceFn::Max, ops::BinaryFn::Max);
  const ValueId bottom = extreme(ops::ReduceFn::Min, ops::BinaryFn::Min);
  const ValueId range = nn::binary(ctx, ops::BinaryFn::Sub, top, bottom);
  const ValueId flat = nn::binary(ctx, ops::BinaryFn::Equal, range, zero);
  const ValueId scale = ops::select(g, ctx.fresh_name(), flat, nn::f32(ctx, 1),
                                    nn::binary(ctx, ops::BinaryFn::Div, range, nn::f32(ctx, 255)));
  const ValueId minus_bottom = nn::binary(ctx, ops::BinaryFn::Sub, zero, bottom);
  const ValueId zero_point = nn::quantize(ctx, minus_bottom, scale, ValueId{}, DType::U8);
  return {nn::quantize(ctx, x, scale, zero_point, DType::U8), scale, zero_point};
}

}  // namespace treadle::onnx
