// DeformConv, LinearAttention, CausalConvWithState, FlexAttention.
#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "formats/onnx/ops/nn_attention.hpp"
#include "formats/onnx/ops/nn_common.hpp"
#include "formats/onnx/ops/nn_conv.hpp"
#include "formats/onnx/types.hpp"
#include "ops/deform_conv.hpp"
#include "ops/linear_attention.hpp"
#include "ops/move.hpp"
#include "ops/softmax.hpp"

namespace treadle::onnx {

std::vector<ValueId> import_deform_conv(NodeContext& ctx) {
  const int count = nn::spatial_count(ctx, 0);
  nn::check_kernel_shape(ctx, ctx.fact(1).shape, count);
  auto op = std::make_shared<ops::DeformConv>();
  op->strides = nn::spatial_attr(ctx, "strides", count, 1);
  op->dilations = nn::spatial_attr(ctx, "dilations", count, 1);
  const ops::Padding padding = nn::padding_attrs(ctx, count);
  op->before = padding.before;
  op->after = padding.after;
  op->group = ctx.int_attr("group", 1);
  op->offset_group = ctx.int_attr("offset_group", 1);
  std::vector<ValueId> inputs{ctx.in(0), ctx.in(1), ctx.in(2)};
  for (std::size_t i = 3; i < std::min<std::size_t>(ctx.inputs(), 5); ++i) {
    inputs.push_back(nn::optional_input(ctx, i));
  }
  return {ctx.add1(std::move(op), std::move(inputs))};
}

std::vector<ValueId> import_linear_attention(NodeContext& ctx) {
  auto op = std::make_shared<ops::LinearAttention>();
  op->q_heads = ctx.int_attr("q_num_heads", std::nullopt);
  op->kv_heads = ctx.int_attr("kv_num_heads", std::nullopt);
  check(op->q_heads >= 1 && op->kv_heads >= 1, ErrorKind::Parse,
        "attributes 'q_num_heads' and 'kv_num_heads' are {} and {}, expected at least 1",
        op->q_heads, op->kv_heads);
  const std::string rule = ctx.string_attr("update_rule", "gated_delta");
  check(rule == "linear" || rule == "gated" || rule == "delta" || rule == "gated_delta",
        ErrorKind::Parse, "attribute 'update_rule' is '{}'", rule);
  const bool gated = rule.starts_with("gated"), delta = rule.ends_with("delta");
  const ValueId decay = nn::optional_input(ctx, 4), beta = nn::optional_input(ctx, 5);
  check(decay.present() == gated && beta.present() == delta, ErrorKind::Parse,
        "update rule '{}' {} input 4 'decay' and {} input 5 'beta'", rule,
        gated ? "needs" : "has no", delta ? "needs" : "has no");
  op->scale = ctx.float_attr("scale", 0.0);
  if (op->scale == 0) {
    const Dim& all = ctx.fact(0).shape.back();
    const auto size = nn::divide(all, op->q_heads, "query size").as_const();
    check(size.has_value() && *size > 0, ErrorKind::Unsupported,
          "the size of a head is {}: attribute 'scale' is needed", all.str());
    op->scale = 1 / std::sqrt(static_cast<double>(*size));
  }
  return ctx.add(std::move(op),
                 {ctx.in(0), ctx.in(1), ctx.in(2), nn::optional_input(ctx, 3), decay, beta});
}

// A depthwise convolution of [past_state or zeros, x]; the new state is the end of those.
std::vector<ValueId> import_causal_conv(NodeContext& ctx) {
  const std::string activation = ctx.string_attr("activation", "none");
  check(activation == "none" || activation == "silu" || activation == "swish", ErrorKind::Parse,
        "attribute 'activation' is '{}', expected none, silu or swish", activation);
  const Fact x = ctx.fact(0), w = ctx.fact(1);
  check(x.rank() == 3 && w.rank() == 3, ErrorKind::Shape,
        "input and weight have shapes {} and {}, expected rank 3", str(x.shape), str(w.shape));
  const auto channels = w.shape[0].as_const(), k = w.shape[2].as_const();
  check(channels && k && *k >= 1, ErrorKind::Unsupported,
        "input 1 'weight' has shape {}, expected a known one", str(w.shape));
  ValueId past = nn::optional_input(ctx, 3);
  ValueId padded = ctx.in(0);
  auto op = std::make_shared<ops::Conv>();
  op->strides = op->dilations = {1};
  op->padding.before = op->padding.after = {0};
  op->group = *channels;
  if (past.present()) {
    const Dim& length = ctx.graph().fact(past).shape.back();
    check(!length.is_const() || length.is(*k - 1), ErrorKind::Shape,
          "input 3 'past_state' has shape {}, expected {} positions",
          str(ctx.graph().fact(past).shape), *k - 1);
    padded = nn::concat(ctx, {past, padded}, 2);
  } else {
    auto pad = std::make_shared<ops::Pad>();
    pad->before = {0, 0, *k - 1};
    pad->after = {0, 0, 0};
    padded = ctx.add1(std::move(pad), {padded});
  }
  const ValueId state = nn::slice(ctx, padded, 2, x.shape[2], *k - 1);
  std::vector<ValueId> inputs{padded, ctx.in(1)};
  if (const ValueId bias = nn::optional_input(ctx, 2); bias.present()) inputs.push_back(bias);
  ValueId y = ctx.add1(std::move(op), std::move(inputs));
  if (activation != "none") {
    const ValueId gate = ops::unary(ctx.graph(), ctx.fresh_name(), ops::UnaryFn::Sigmoid, y);
    y = nn::binary(ctx, ops::BinaryFn::Mul, y, gate);
  }
  return {y, state};
}

namespace {

// The value that a modifier graph makes of `x`, of the same type.
ValueId modified(NodeContext& ctx, std::string_view attr, ValueId x) {
  if (!ctx.has_attr(attr)) return x;
  const ValueId inputs[] = {x};
  const auto out = ctx.inline_body(attr, inputs);
  check(out.size() == 1, ErrorKind::Parse, "attribute '{}' has {} outputs, expected 1", attr,
        out.size());
  const Fact &before = ctx.graph().fact(x), &after = ctx.graph().fact(out[0]);
  check(after.kind == Fact::Kind::Tensor && after.dtype == before.dtype &&
            after.rank() == before.rank(),
        ErrorKind::Type, "attribute '{}' makes {} of {}", attr, after.str(), before.str());
  return out[0];
}

}  // namespace

// ai.onnx.preview FlexAttention, from its definition.
std::vector<ValueId> import_flex_attention(NodeContext& ctx) {
  Graph& g = ctx.graph();
  for (std::size_t i = 0; i < 3; ++i) {
    check(ctx.fact(i).rank() == 4, ErrorKind::Shape, "input {} has shape {}, expected rank 4", i,
          str(ctx.fact(i).shape));
  }
  const SymShape q = ctx.fact(0).shape, k = ctx.fact(1).shape, v = ctx.fact(2).shape;
  const DType dtype = ctx.fact(0).dtype;
  DType precision = dtype == DType::F64 ? DType::F64 : DType::F32;
  if (ctx.has_attr("softmax_precision")) {
    precision = dtype_of_onnx(ctx.int_attr("softmax_precision", std::nullopt));
    check(is_float(precision), ErrorKind::Type, "attribute 'softmax_precision' is {}",
          name_of(precision));
  }
  const auto kv_heads = k[1].as_const();
  check(kv_heads && *kv_heads > 0, ErrorKind::Unsupported, "{} key heads", k[1].str());
  const Dim share = nn::divide(q[1], *kv_heads, "query heads");
  ValueId query = ctx.in(0);
  const double scale = nn::attention_scale(ctx, query);
  check(scale >= 0, ErrorKind::Parse, "attribute 'scale' is {}, expected at least 0", scale);
  const auto scaled = [&](ValueId x) {
    return nn::binary(ctx, ops::BinaryFn::Mul, x,
                      ops::scalar_like(g, ctx.fresh_name(), std::sqrt(scale), x));
  };
  // Query heads that share a key head stand on an axis of their own.
  const ValueId queries = nn::reshape(ctx, scaled(query), {q[0], k[1], share, q[2], q[3]});
  const ValueId keys = nn::unsqueeze(ctx, nn::transpose(ctx, scaled(ctx.in(1)), {0, 1, 3, 2}), {2});
  ValueId s = ops::matmul(g, ctx.fresh_name(), queries, keys);
  s = nn::cast(ctx, nn::reshape(ctx, s, {q[0], q[1], q[2], k[2]}), precision);
  s = modified(ctx, "score_mod", s);
  s = ctx.add1(make_op<ops::Softmax>(std::vector<std::int64_t>{3}, false), {s});
  s = modified(ctx, "prob_mod", s);
  s = nn::reshape(ctx, s, {q[0], k[1], share, q[2], k[2]});
  const ValueId values = nn::unsqueeze(ctx, nn::cast(ctx, ctx.in(2), precision), {2});
  const ValueId y = ops::matmul(g, ctx.fresh_name(), s, values);
  return {nn::cast(ctx, nn::reshape(ctx, y, {q[0], q[1], q[2], v[3]}), dtype)};
}

}  // namespace treadle::onnx
