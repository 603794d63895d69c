// com.microsoft Attention, MultiHeadAttention and GroupQueryAttention.
#include "base/error.hpp"
#include "formats/onnx/ops/nn_attention.hpp"
#include "formats/onnx/ops/nn_common.hpp"
#include "formats/options.hpp"
#include "ops/move.hpp"

namespace treadle::onnx {

namespace {

// Keys below the length of each batch entry (`ends` [B]), and with `starts` not below that.
ValueId length_mask(NodeContext& ctx, ValueId ends, ValueId starts, const Dim& keys) {
  const auto column = [&](ValueId v) {
    return nn::unsqueeze(ctx, nn::cast(ctx, v, DType::I64), {1});
  };
  const ValueId key = nn::counting(ctx, keys);
  const ValueId keep = nn::binary(ctx, ops::BinaryFn::Less, key, column(ends));
  if (!starts.present()) return keep;
  return nn::binary(ctx, ops::BinaryFn::And, keep,
                    nn::binary(ctx, ops::BinaryFn::GreaterEqual, key, column(starts)));
}

// The integer mask at input i as an additive one: [B, T] or [B, S, T] (1: read), [B] (key lengths)
// or [2·B] (ends, then starts).
ValueId integer_mask(NodeContext& ctx, std::size_t i, const Dim& batch, const Dim& keys,
                     DType dtype) {
  const ValueId mask = nn::optional_input(ctx, i);
  if (!mask.present()) return mask;
  const SymShape s = ctx.fact(i).shape;
  ValueId keep;
  if (s.size() == 1 && s[0] == batch) {
    keep = length_mask(ctx, mask, ValueId{}, keys);
  } else if (s.size() == 1 && s[0] == batch * 2) {
    keep = length_mask(ctx, nn::slice(ctx, mask, 0, 0, batch),
                       nn::slice(ctx, mask, 0, batch, batch), keys);
  } else {
    if (s.size() == 1 && !(s[0].is_const() && batch.is_const()))
      throw formats::NeedsSizes(fmt::format(
          "input {}, the mask, has shape {}: whether it has one element a batch entry or two", i,
          str(s)));
    check(s.size() == 2 || s.size() == 3, ErrorKind::Unsupported,
          "input {}, the mask, has shape {}; expected [batch], [2·batch], [batch, keys] or [batch, "
          "queries, keys]",
          i, str(s));
    keep = nn::cast(ctx, mask, DType::Bool);
  }
  const ValueId sum = nn::additive(ctx, keep, ctx.float_attr("mask_filter_value", -10000.0), dtype);
  const int rank = ctx.graph().fact(sum).rank();
  return nn::unsqueeze(ctx, sum,
                       rank == 2 ? std::vector<std::int64_t>{1, 2} : std::vector<std::int64_t>{1});
}

// Entry `at` of axis 0, without the axis.
ValueId entry(NodeContext& ctx, ValueId x, std::int64_t at) {
  return nn::squeeze(ctx, nn::slice(ctx, x, 0, at, 1), {0});
}

}  // namespace

// Inputs x [B, S, I], weight [I, 3·hidden], bias, mask, past [2, B, H, P, D], additive bias.
// Outputs y, present [2, B, H, P + S, D].
std::vector<ValueId> import_ms_attention(NodeContext& ctx) {
  Graph& g = ctx.graph();
  const std::int64_t heads = ctx.int_attr("num_heads", std::nullopt);
  check(ctx.int_attr("do_rotary", 0) == 0, ErrorKind::Unsupported, "Attention with do_rotary");
  check(ctx.int_attr("past_present_share_buffer", 0) == 0, ErrorKind::Unsupported,
        "Attention with past_present_share_buffer");
  ValueId packed = ops::matmul(g, ctx.fresh_name(), ctx.in(0), ctx.in(1));
  if (const ValueId bias = nn::optional_input(ctx, 2); bias.present()) {
    packed = nn::binary(ctx, ops::BinaryFn::Add, packed, bias);
  }
  const SymShape s = g.fact(packed).shape;
  check(s.size() == 3, ErrorKind::Shape, "input 0 has shape {}, expected [batch, sequence, hidden]",
        str(ctx.fact(0).shape));
  SymShape sizes;
  if (const auto given = ctx.ints_attr("qkv_hidden_sizes"); given && !given->empty()) {
    check(given->size() == 3, ErrorKind::Parse, "attribute 'qkv_hidden_sizes' has {} entries",
          given->size());
    sizes.assign(given->begin(), given->end());
  } else {
    sizes.assign(3, nn::divide(s[2], 3, "packed hidden size"));
  }
  const auto part = [&](const Dim& start, const Dim& length) {
    return nn::split_heads(ctx, nn::slice(ctx, packed, 2, start, length), heads);
  };
  ValueId q = part(0, sizes[0]);
  ValueId k = part(sizes[0], sizes[1]), v = part(sizes[0] + sizes[1], sizes[2]);
  nn::AttentionParams p;
  p.scale = nn::attention_scale(ctx, q);
  if (ctx.int_attr("unidirectional", 0) != 0) p.right = 0;
  if (const ValueId past = nn::optional_input(ctx, 4); past.present()) {
    check(ctx.fact(4).rank() == 5, ErrorKind::Shape, "input 4 'past' has shape {}, expected rank 5",
          str(ctx.fact(4).shape));
    p.offset = ctx.fact(4).shape[3];
    k = nn::concat(ctx, {entry(ctx, past, 0), k}, 2);
    v = nn::concat(ctx, {entry(ctx, past, 1), v}, 2);
  }
  const DType dtype = g.fact(q).dtype;
  const ValueId mask = nn::add_masks(ctx, integer_mask(ctx, 3, s[0], g.fact(k).shape[2], dtype),
                                     nn::optional_input(ctx, 5));
  std::vector<ValueId> out{nn::merge_heads(ctx, nn::attend(ctx, p, q, k, v, mask))};
  if (ctx.wants_output(1)) {
    out.push_back(nn::concat(ctx, {nn::unsqueeze(ctx, k, {0}), nn::unsqueeze(ctx, v, {0})}, 0));
  }
  return out;
}

namespace {

struct Qkv {
  ValueId q, k, v;
};

// Slot `at` of `count` of x [B, S, H, count, D] as [B, H, S, D].
ValueId unpack(NodeContext& ctx, ValueId x, std::int64_t at) {
  const ValueId one = nn::squeeze(ctx, nn::slice(ctx, x, 3, at, 1), {3});
  return nn::transpose(ctx, one, {0, 2, 1, 3});
}

// MultiHeadAttention's query, key and value as [B, H, S, D], the bias [q, k, v] added.
Qkv multi_head_inputs(NodeContext& ctx, std::int64_t heads) {
  Graph& g = ctx.graph();
  const ValueId bias = nn::optional_input(ctx, 3);
  if (ctx.fact(0).rank() == 5) {
    check(!bias.present(), ErrorKind::Unsupported, "a bias on a packed query");
    return {unpack(ctx, ctx.in(0), 0), unpack(ctx, ctx.in(0), 1), unpack(ctx, ctx.in(0), 2)};
  }
  Dim start = 0;
  const auto project = [&](ValueId x) {
    if (bias.present()) {
      const Dim size = g.fact(x).shape.at(2);
      x = nn::binary(ctx, ops::BinaryFn::Add, x, nn::slice(ctx, bias, 0, start, size));
      start = start + size;
    }
    return nn::split_heads(ctx, x, heads);
  };
  const ValueId q = project(ctx.in(0));
  const int rank = ctx.fact(1).rank();
  if (rank == 5) return {q, unpack(ctx, ctx.in(1), 0), unpack(ctx, ctx.in(1), 1)};
  if (rank == 4) return {q, ctx.in(1), ctx.in(2)};
  const ValueId k = project(ctx.in(1));
  return {q, k, project(ctx.in(2))};
}

}  // namespace

// Inputs query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value. Outputs
// y, present_key, present_value.
std::vector<ValueId> import_multi_head_attention(NodeContext& ctx) {
  Graph& g = ctx.graph();
  Qkv h = multi_head_inputs(ctx, ctx.int_attr("num_heads", std::nullopt));
  nn::AttentionParams p;
  p.scale = nn::attention_scale(ctx, h.q);
  if (ctx.int_attr("unidirectional", 0) != 0) p.right = 0;
  if (const ValueId past = nn::optional_input(ctx, 6); past.present()) {
    p.offset = ctx.fact(6).shape.at(2);
    h.k = nn::concat(ctx, {past, h.k}, 2);
    h.v = nn::concat(ctx, {ctx.in(7), h.v}, 2);
  }
  const ValueId mask = nn::add_masks(
      ctx, integer_mask(ctx, 4, g.fact(h.q).shape[0], g.fact(h.k).shape.at(2), g.fact(h.q).dtype),
      nn::optional_input(ctx, 5));
  return {nn::merge_heads(ctx, nn::attend(ctx, p, h.q, h.k, h.v, mask)), h.k, h.v};
}

namespace {

// cos and sin of the positions past … past+S−1, or of the given position_ids, as [B or 1, 1, S, r].
Qkv rotated(NodeContext& ctx, Qkv h, const Dim& past) {
  ValueId positions = nn::optional_input(ctx, 9);
  if (positions.present()) {
    positions = nn::cast(ctx, positions, DType::I64);
  } else {
    const Dim count = ctx.graph().fact(h.q).shape[2];
    positions = nn::unsqueeze(
        ctx,
        nn::binary(ctx, ops::BinaryFn::Add, nn::counting(ctx, count), nn::dim_value(ctx, past)),
        {0});
  }
  const auto table = [&](std::size_t i) {
    return nn::unsqueeze(ctx, ctx.add1(make_op<ops::Gather>(0), {ctx.in(i), positions}), {1});
  };
  const ValueId cos = table(7), sin = table(8);
  const bool interleaved = ctx.int_attr("rotary_interleaved", 0) != 0;
  const Dim size = ctx.graph().fact(cos).shape[3] * 2;
  return {nn::rotate(ctx, h.q, cos, sin, interleaved, size),
          nn::rotate(ctx, h.k, cos, sin, interleaved, size), h.v};
}

Qkv group_query_inputs(NodeContext& ctx) {
  const std::int64_t heads = ctx.int_attr("num_heads", std::nullopt);
  const std::int64_t kv_heads = ctx.int_attr("kv_num_heads", std::nullopt);
  if (nn::optional_input(ctx, 1).present()) {
    return {nn::split_heads(ctx, ctx.in(0), heads), nn::split_heads(ctx, ctx.in(1), kv_heads),
            nn::split_heads(ctx, ctx.in(2), kv_heads)};
  }
  check(heads > 0 && kv_heads > 0, ErrorKind::Parse, "{} heads and {} key heads", heads, kv_heads);
  const ValueId all = nn::split_heads(ctx, ctx.in(0), checked_add(heads, checked_mul(2, kv_heads)));
  return {nn::slice(ctx, all, 1, 0, heads), nn::slice(ctx, all, 1, heads, kv_heads),
          nn::slice(ctx, all, 1, heads + kv_heads, kv_heads)};
}

}  // namespace

// Inputs query (or q, k, v packed), key, value, past_key, past_value, seqlens_k, total length,
// cos_cache, sin_cache, position_ids, attention_bias. The past is taken to be full: every batch
// entry has as many past tokens as past_key has room for (no shared buffer, no ragged batch), so
// that present = past + new.
std::vector<ValueId> import_group_query_attention(NodeContext& ctx) {
  check(ctx.int_attr("smooth_softmax", 0) <= 0 && !nn::optional_input(ctx, 11).present(),
        ErrorKind::Unsupported, "GroupQueryAttention with smooth_softmax or head_sink");
  Qkv h = group_query_inputs(ctx);
  nn::AttentionParams p;
  const ValueId past = nn::optional_input(ctx, 3);
  if (past.present()) p.offset = ctx.fact(3).shape.at(2);
  if (ctx.int_attr("do_rotary", 0) != 0) h = rotated(ctx, h, p.offset);
  p.scale = nn::attention_scale(ctx, h.q);
  p.softcap = ctx.float_attr("softcap", 0.0);
  p.right = 0;
  const std::int64_t local = ctx.int_attr("local_window_size", -1);
  if (local > 0) p.left = local - 1;
  if (past.present()) {
    h.k = nn::concat(ctx, {past, h.k}, 2);
    h.v = nn::concat(ctx, {ctx.in(4), h.v}, 2);
  }
  const ValueId y = nn::attend(ctx, p, h.q, h.k, h.v, nn::optional_input(ctx, 10));
  return {nn::merge_heads(ctx, y), h.k, h.v};
}

}  // namespace treadle::onnx
