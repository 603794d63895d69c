// Pooling, whole-map pooling and local response normalisation.
#include <cmath>

#include "base/error.hpp"
#include "formats/onnx/ops/nn_common.hpp"
#include "formats/onnx/ops/nn_pool.hpp"
#include "ops/norm.hpp"
#include "ops/pool.hpp"

namespace treadle::onnx {

namespace {

// LpPool's and GlobalLpPool's p, a float before opset 2.
std::int64_t p_attr(NodeContext& ctx) {
  constexpr int kFloat = 1;
  const Attribute* attr = ctx.attribute("p");
  if (attr == nullptr || attr->type != kFloat) return ctx.int_attr("p", 2);
  const double p = ctx.float_attr("p", 2.0);
  check(p >= 1 && p <= 1024 && p == std::floor(p), ErrorKind::Unsupported,
        "attribute 'p' is {}, expected a whole number from 1 to 1024", p);
  return static_cast<std::int64_t>(p);
}

}  // namespace

std::shared_ptr<ops::Pool> nn::pool_from_attrs(NodeContext& ctx, ops::PoolKind kind, int count) {
  auto op = std::make_shared<ops::Pool>();
  op->kind = kind;
  const auto kernel = ctx.ints_attr("kernel_shape");
  check(kernel && !kernel->empty(), ErrorKind::Parse, "attribute 'kernel_shape' is required");
  op->kernel = spatial_attr(ctx, "kernel_shape", count, 1);
  op->strides = spatial_attr(ctx, "strides", count, 1);
  op->dilations = spatial_attr(ctx, "dilations", count, 1);
  op->padding = padding_attrs(ctx, count);
  op->ceil_mode = ctx.int_attr("ceil_mode", 0) != 0;
  return op;
}

std::vector<ValueId> import_max_pool(NodeContext& ctx) {
  auto op = nn::pool_from_attrs(ctx, ops::PoolKind::Max, nn::spatial_count(ctx, 0));
  op->with_indices = ctx.wants_output(1);
  op->storage_order = ctx.int_attr("storage_order", 0);
  return ctx.add(std::move(op), {ctx.in(0)});
}

// com.microsoft: MaxPool of [N, spatial…, C].
std::vector<ValueId> import_nhwc_max_pool(NodeContext& ctx) {
  auto op = nn::pool_from_attrs(ctx, ops::PoolKind::Max, nn::spatial_count(ctx, 0));
  op->layout = ops::Layout::ChannelsLast;
  return {ctx.add1(std::move(op), {ctx.in(0)})};
}

std::vector<ValueId> import_average_pool(NodeContext& ctx) {
  auto op = nn::pool_from_attrs(ctx, ops::PoolKind::Average, nn::spatial_count(ctx, 0));
  op->count_include_pad = ctx.int_attr("count_include_pad", 0) != 0;
  return {ctx.add1(std::move(op), {ctx.in(0)})};
}

std::vector<ValueId> import_lp_pool(NodeContext& ctx) {
  auto op = nn::pool_from_attrs(ctx, ops::PoolKind::Lp, nn::spatial_count(ctx, 0));
  op->p = p_attr(ctx);
  return {ctx.add1(std::move(op), {ctx.in(0)})};
}

namespace {

ValueId reduce_spatial(NodeContext& ctx, ops::ReduceFn fn, ValueId x) {
  const int count = ctx.graph().fact(x).rank() - 2;
  check(count >= 1, ErrorKind::Shape, "input 0 has shape {}, expected (N, C, spatial sizes)",
        str(ctx.graph().fact(x).shape));
  return ops::reduce(ctx.graph(), ctx.fresh_name(), fn, x, nn::axes_from(2, count), true);
}

}  // namespace

std::vector<ValueId> import_global_average_pool(NodeContext& ctx) {
  return {reduce_spatial(ctx, ops::ReduceFn::Mean, ctx.in(0))};
}

std::vector<ValueId> import_global_max_pool(NodeContext& ctx) {
  return {reduce_spatial(ctx, ops::ReduceFn::Max, ctx.in(0))};
}

std::vector<ValueId> import_global_lp_pool(NodeContext& ctx) {
  const std::int64_t p = p_attr(ctx);
  check(p >= 1, ErrorKind::Shape, "attribute 'p' is {}, expected at least 1", p);
  if (p == 1) return {reduce_spatial(ctx, ops::ReduceFn::L1, ctx.in(0))};
  if (p == 2) return {reduce_spatial(ctx, ops::ReduceFn::L2, ctx.in(0))};
  Graph& g = ctx.graph();
  const ValueId size = ops::unary(g, ctx.fresh_name(), ops::UnaryFn::Abs, ctx.in(0));
  const auto power = [&](ValueId x, double exponent) {
    return nn::binary(ctx, ops::BinaryFn::Pow, x,
                      ops::scalar_like(g, ctx.fresh_name(), exponent, x));
  };
  const ValueId sum = reduce_spatial(ctx, ops::ReduceFn::Sum, power(size, static_cast<double>(p)));
  return {power(sum, 1.0 / static_cast<double>(p))};
}

std::vector<ValueId> import_lrn(NodeContext& ctx) {
  auto op = std::make_shared<ops::Lrn>();
  op->axis = 1;
  op->size = ctx.int_attr("size", std::nullopt);
  op->alpha = ctx.float_attr("alpha", 1e-4);
  op->beta = ctx.float_attr("beta", 0.75);
  op->bias = ctx.float_attr("bias", 1.0);
  return {ctx.add1(std::move(op), {ctx.in(0)})};
}

}  // namespace treadle::onnx
