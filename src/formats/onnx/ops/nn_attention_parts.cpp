#include "formats/onnx/ops/nn_attention.hpp"

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "formats/onnx/ops/nn_common.hpp"
#include "ops/attention.hpp"
#include "ops/range.hpp"
#include "ops/symbolic_constant.hpp"

namespace treadle::onnx::nn {

ValueId split_heads(NodeContext& ctx, ValueId x, std::int64_t heads) {
  const SymShape s = ctx.graph().fact(x).shape;
  check(s.size() == 3, ErrorKind::Shape, "shape {}, expected [batch, sequence, hidden]", str(s));
  const Dim size = divide(s[2], heads, "hidden size");
  return transpose(ctx, reshape(ctx, x, {s[0], s[1], heads, size}), {0, 2, 1, 3});
}

ValueId merge_heads(NodeContext& ctx, ValueId x) {
  const SymShape s = ctx.graph().fact(x).shape;
  return reshape(ctx, transpose(ctx, x, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

ValueId dim_value(NodeContext& ctx, const Dim& value) {
  return ctx.add1(make_op<ops::SymbolicConstant>(std::vector<Dim>{value}, DType::I64, SymShape{}),
                  {});
}

ValueId counting(NodeContext& ctx, const Dim& count) {
  const auto number = [&](std::int64_t v) {
    return ctx.constant_value(Tensor::scalar<std::int64_t>(v));
  };
  return ctx.add1(make_op<ops::Range>(count), {number(0), dim_value(ctx, count), number(1)});
}

ValueId additive(NodeContext& ctx, ValueId keep, double otherwise, DType dtype) {
  const auto number = [&](double v) {
    return cast(ctx, ctx.constant_value(Tensor::scalar<double>(v)), dtype);
  };
  return ops::select(ctx.graph(), ctx.fresh_name(), keep, number(0), number(otherwise));
}

ValueId to_rank4(NodeContext& ctx, ValueId mask) {
  const int rank = ctx.graph().fact(mask).rank();
  check(rank <= 4, ErrorKind::Shape, "the attention mask has rank {}, expected at most 4", rank);
  return rank == 4 ? mask : unsqueeze(ctx, mask, axes_from(0, 4 - rank));
}

ValueId add_masks(NodeContext& ctx, ValueId a, ValueId b) {
  if (!a.present()) return b;
  return b.present() ? binary(ctx, ops::BinaryFn::Add, a, b) : a;
}

double attention_scale(NodeContext& ctx, ValueId& q) {
  const double given = ctx.float_attr("scale", 0.0);
  if (given != 0) return given;
  const Dim size = ctx.graph().fact(q).shape[3];
  check(!size.is_const() || size.value() > 0, ErrorKind::Shape,
        "the head size is {}, expected a positive number", size.str());
  if (size.is_const()) return 1 / std::sqrt(static_cast<double>(size.value()));
  const ValueId root = ops::unary(ctx.graph(), ctx.fresh_name(), ops::UnaryFn::Rsqrt,
                                  cast(ctx, dim_value(ctx, size), DType::F32));
  q = binary(ctx, ops::BinaryFn::Mul, q, cast(ctx, root, ctx.graph().fact(q).dtype));
  return 1;
}

ValueId attend(NodeContext& ctx, const AttentionParams& p, ValueId q, ValueId k, ValueId v,
               ValueId mask) {
  auto op = std::make_shared<ops::Attention>();
  op->scale = p.scale;
  op->softcap = p.softcap;
  op->left = p.left;
  op->right = p.right;
  op->offset = p.offset;
  std::vector<ValueId> inputs{q, k, v};
  if (mask.present()) inputs.push_back(to_rank4(ctx, mask));
  return ctx.add1(std::move(op), std::move(inputs));
}

ValueId window_mask(NodeContext& ctx, const AttentionParams& p, ValueId offset, const Dim& queries,
                    const Dim& keys) {
  const auto bound = [&](std::int64_t by) {
    return ctx.constant_value(Tensor::scalar<std::int64_t>(by));
  };
  const ValueId center =
      binary(ctx, ops::BinaryFn::Add, unsqueeze(ctx, counting(ctx, queries), {1}), offset);
  const ValueId key = counting(ctx, keys);
  ValueId keep;
  if (p.right >= 0) {
    keep = binary(ctx, ops::BinaryFn::LessEqual, key,
                  binary(ctx, ops::BinaryFn::Add, center, bound(p.right)));
  }
  if (p.left >= 0) {
    const ValueId low = binary(ctx, ops::BinaryFn::GreaterEqual, key,
                               binary(ctx, ops::BinaryFn::Sub, center, bound(p.left)));
    keep = keep.present() ? binary(ctx, ops::BinaryFn::And, keep, low) : low;
  }
  return keep;
}

ValueId rotate(NodeContext& ctx, ValueId x, ValueId cos, ValueId sin, bool interleaved,
               const Dim& size) {
  const SymShape s = ctx.graph().fact(x).shape;
  const bool whole = size == s[3];
  const ValueId part = whole ? x : slice(ctx, x, 3, 0, size);
  const Dim half = divide(size, 2, "rotary size");
  const ValueId a = interleaved ? slice(ctx, part, 3, 0, half, 2) : slice(ctx, part, 3, 0, half);
  const ValueId b = interleaved ? slice(ctx, part, 3, 1, half, 2) : slice(ctx, part, 3, half, half);
  const auto mul = [&](ValueId u, ValueId w) { return binary(ctx, ops::BinaryFn::Mul, u, w); };
  ValueId real = binary(ctx, ops::BinaryFn::Sub, mul(a, cos), mul(b, sin));
  ValueId imaginary = binary(ctx, ops::BinaryFn::Add, mul(a, sin), mul(b, cos));
  ValueId out;
  if (interleaved) {
    real = unsqueeze(ctx, real, {4});
    imaginary = unsqueeze(ctx, imaginary, {4});
    out = reshape(ctx, concat(ctx, {real, imaginary}, 4), {s[0], s[1], s[2], size});
  } else {
    out = concat(ctx, {real, imaginary}, 3);
  }
  return whole ? out : concat(ctx, {out, slice(ctx, x, 3, size, s[3] - size)}, 3);
}

}  // namespace treadle::onnx::nn
