// ai.onnx Attention (opset 23 and later).
#include "formats/onnx/ops/nn_attention.hpp"

#include <limits>

#include "base/error.hpp"
#include "formats/onnx/ops/nn_common.hpp"
#include "ops/softmax.hpp"

namespace treadle::onnx {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// attn_mask (Bool or additive) as an additive mask over all `keys`; a shorter one is padded.
ValueId mask_input(NodeContext& ctx, const Dim& keys, DType dtype) {
  ValueId mask = nn::optional_input(ctx, 3);
  if (!mask.present()) return mask;
  mask = ctx.graph().fact(mask).dtype == DType::Bool ? nn::additive(ctx, mask, -kInfinity, dtype)
                                                     : nn::cast(ctx, mask, dtype);
  mask = nn::to_rank4(ctx, mask);
  const SymShape s = ctx.graph().fact(mask).shape;
  if (!s[3].is_const() || !keys.is_const() || s[3] == keys || s[3].is(1)) return mask;
  check(is_const(s) && s[3].value() < keys.value(), ErrorKind::Shape,
        "input 3 'attn_mask' has shape {}, which does not fit {} keys", str(s), keys.str());
  Shape rest = concrete(s);
  rest[3] = keys.value() - s[3].value();
  Tensor fill(DType::F32, rest);
  for (float& v : fill.mutable_span<float>()) v = -std::numeric_limits<float>::infinity();
  return nn::concat(ctx, {mask, nn::cast(ctx, ctx.constant_value(std::move(fill)), dtype)}, 3);
}

struct Heads {
  ValueId q, k, v;
};

// The inputs as [B, H, S, D].
Heads head_inputs(NodeContext& ctx) {
  Heads h{ctx.in(0), ctx.in(1), ctx.in(2)};
  const int rank = ctx.fact(0).rank();
  check(rank == 3 || rank == 4, ErrorKind::Shape, "input 0 'Q' has shape {}, expected rank 3 or 4",
        str(ctx.fact(0).shape));
  if (rank == 3) {
    const std::int64_t q_heads = ctx.int_attr("q_num_heads", std::nullopt);
    const std::int64_t kv_heads = ctx.int_attr("kv_num_heads", std::nullopt);
    h = {nn::split_heads(ctx, h.q, q_heads), nn::split_heads(ctx, h.k, kv_heads),
         nn::split_heads(ctx, h.v, kv_heads)};
  }
  return h;
}

// The fourth output: what qk_matmul_output_mode asks for, from the parts of the definition.
ValueId scores_output(NodeContext& ctx, const nn::AttentionParams& p, const Heads& h,
                      ValueId mask) {
  Graph& g = ctx.graph();
  const SymShape q = g.fact(h.q).shape, k = g.fact(h.k).shape;
  const Dim groups = nn::divide(q[1], k[1].value(), "query heads");
  const auto scalar = [&](double v, ValueId like) {
    return ops::scalar_like(g, ctx.fresh_name(), v, like);
  };
  const ValueId folded = nn::reshape(ctx, h.q, {q[0], k[1], groups, q[2], q[3]});
  const ValueId turned = nn::unsqueeze(ctx, nn::transpose(ctx, h.k, {0, 1, 3, 2}), {2});
  ValueId s = ops::matmul(g, ctx.fresh_name(), folded, turned);
  s = nn::reshape(ctx, s, {q[0], q[1], q[2], k[2]});
  s = nn::binary(ctx, ops::BinaryFn::Mul, s, scalar(p.scale, s));
  const std::int64_t mode = ctx.int_attr("qk_matmul_output_mode", 0);
  check(mode >= 0 && mode <= 3, ErrorKind::Parse,
        "attribute 'qk_matmul_output_mode' is {}, expected 0 to 3", mode);
  if (mode == 0) return s;
  if (p.softcap > 0) {
    s = nn::binary(ctx, ops::BinaryFn::Div, s, scalar(p.softcap, s));
    s = ops::unary(g, ctx.fresh_name(), ops::UnaryFn::Tanh, s);
    s = nn::binary(ctx, ops::BinaryFn::Mul, s, scalar(p.softcap, s));
  }
  if (mode == 1) return s;
  if (p.left >= 0 || p.right >= 0) {
    const ValueId keep = nn::window_mask(ctx, p, nn::dim_value(ctx, p.offset), q[2], k[2]);
    mask = nn::add_masks(ctx, mask, nn::additive(ctx, keep, -kInfinity, g.fact(s).dtype));
  }
  if (mask.present()) s = nn::binary(ctx, ops::BinaryFn::Add, s, mask);
  if (mode == 2) return s;
  s = ctx.add1(make_op<ops::Softmax>(std::vector<std::int64_t>{3}, false), {s});
  if (!mask.present()) return s;
  mask = nn::to_rank4(ctx, mask);
  const ValueId top = ops::reduce(g, ctx.fresh_name(), ops::ReduceFn::Max, mask, {3}, true);
  const ValueId none = nn::binary(ctx, ops::BinaryFn::Equal, top, scalar(-kInfinity, top));
  return ops::select(g, ctx.fresh_name(), none, scalar(0, s), s);
}

}  // namespace

std::vector<ValueId> import_attention(NodeContext& ctx) {
  Graph& g = ctx.graph();
  Heads h = head_inputs(ctx);
  nn::AttentionParams p;
  p.scale = nn::attention_scale(ctx, h.q);
  p.softcap = ctx.float_attr("softcap", 0.0);
  p.left = ctx.int_attr("left_window_size", -1);
  p.right = ctx.int_attr("right_window_size", -1);
  check(p.left >= -1 && p.right >= -1, ErrorKind::Parse,
        "window sizes are {} and {}, expected at least -1", p.left, p.right);
  if (ctx.int_attr("is_causal", 0) != 0) p.right = 0;
  const ValueId past_k = nn::optional_input(ctx, 4), past_v = nn::optional_input(ctx, 5);
  check(past_k.present() == past_v.present(), ErrorKind::Parse,
        "inputs 4 'past_key' and 5 'past_value' are given together or not at all");
  if (past_k.present()) {
    p.offset = g.fact(past_k).shape.at(2);
    h.k = nn::concat(ctx, {past_k, h.k}, 2);
    h.v = nn::concat(ctx, {past_v, h.v}, 2);
  }
  const Dim queries = g.fact(h.q).shape[2], keys = g.fact(h.k).shape.at(2);
  const DType dtype = g.fact(h.q).dtype;
  ValueId mask = mask_input(ctx, keys, dtype);
  if (const ValueId lengths = nn::optional_input(ctx, 6); lengths.present()) {
    // One length a batch entry: the keys beyond it are padding, and it ends with the last query.
    const ValueId length = nn::unsqueeze(ctx, nn::cast(ctx, lengths, DType::I64), {1, 2, 3});
    ValueId keep = nn::binary(ctx, ops::BinaryFn::Less, nn::counting(ctx, keys), length);
    if (p.left >= 0 || p.right >= 0) {
      const ValueId offset =
          nn::binary(ctx, ops::BinaryFn::Sub, length, nn::dim_value(ctx, queries));
      keep =
          nn::binary(ctx, ops::BinaryFn::And, keep, nn::window_mask(ctx, p, offset, queries, keys));
      p.left = p.right = -1;
    }
    mask = nn::add_masks(ctx, mask, nn::additive(ctx, keep, -kInfinity, dtype));
  }
  ValueId y = nn::attend(ctx, p, h.q, h.k, h.v, mask);
  if (ctx.fact(0).rank() == 3) y = nn::merge_heads(ctx, y);
  std::vector<ValueId> out{y, h.k, h.v};
  if (ctx.wants_output(3)) out.push_back(scores_output(ctx, p, h, mask));
  return out;
}

}  // namespace treadle::onnx
