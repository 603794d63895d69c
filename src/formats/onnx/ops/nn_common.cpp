#include "formats/onnx/ops/nn_common.hpp"

#include "base/error.hpp"
#include "ops/move.hpp"

namespace treadle::onnx::nn {

ops::Padding padding_attrs(NodeContext& ctx, int count) {
  ops::Padding padding;
  const auto n = static_cast<std::size_t>(count);
  padding.before.assign(n, 0);
  padding.after.assign(n, 0);
  const std::string mode = ctx.string_attr("auto_pad", "NOTSET");
  if (mode == "SAME_UPPER") {
    padding.mode = ops::AutoPad::SameUpper;
  } else if (mode == "SAME_LOWER") {
    padding.mode = ops::AutoPad::SameLower;
  } else if (mode == "VALID") {
    padding.mode = ops::AutoPad::Valid;
  } else {
    check(mode == "NOTSET" || mode.empty(), ErrorKind::Parse,
          "attribute 'auto_pad' is '{}', expected NOTSET, SAME_UPPER, SAME_LOWER or VALID", mode);
    if (const auto pads = ctx.ints_attr("pads"); pads && !pads->empty()) {
      check(pads->size() == 2 * n, ErrorKind::Parse,
            "attribute 'pads' has {} entries, expected {} for {} spatial axes", pads->size(), 2 * n,
            count);
      for (std::size_t i = 0; i < n; ++i) {
        padding.before[i] = (*pads)[i];
        padding.after[i] = (*pads)[n + i];
      }
    }
  }
  return padding;
}

std::vector<std::int64_t> spatial_attr(NodeContext& ctx, std::string_view attr, int count,
                                       std::int64_t fallback) {
  const auto given = ctx.ints_attr(attr);
  if (!given || given->empty()) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(count), fallback);
  }
  check(given->size() == static_cast<std::size_t>(count), ErrorKind::Parse,
        "attribute '{}' has {} entries, expected {}, one a spatial axis", attr, given->size(),
        count);
  return *given;
}

int spatial_count(NodeContext& ctx, std::size_t input) {
  const Fact& x = ctx.fact(input);
  check(x.rank() >= 3, ErrorKind::Shape, "input {} has shape {}, expected (N, C, spatial sizes)",
        input, str(x.shape));
  return x.rank() - 2;
}

std::vector<std::int64_t> axes_from(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> axes;
  for (std::int64_t i = 0; i < count; ++i) axes.push_back(first + i);
  return axes;
}

ValueId optional_input(NodeContext& ctx, std::size_t i) {
  return i < ctx.inputs() && ctx.has(i) ? ctx.in(i) : ValueId{};
}

ValueId as_scalar(NodeContext& ctx, ValueId v) {
  const SymShape& shape = ctx.graph().fact(v).shape;
  if (shape.empty()) return v;
  for (const Dim& d : shape) {
    if (!d.is(1)) return v;
  }
  return squeeze(ctx, v, axes_from(0, static_cast<std::int64_t>(shape.size())));
}

ValueId f32(NodeContext& ctx, float value) {
  return ctx.constant_value(Tensor::scalar<float>(value));
}

ValueId slice(NodeContext& ctx, ValueId x, std::int64_t axis, const Dim& start, const Dim& length,
              std::int64_t step) {
  return ctx.add1(make_op<ops::Slice>(axis, start, length, step), {x});
}

ValueId concat(NodeContext& ctx, std::vector<ValueId> values, std::int64_t axis) {
  return ctx.add1(make_op<ops::Concat>(axis), std::move(values));
}

ValueId binary(NodeContext& ctx, ops::BinaryFn fn, ValueId a, ValueId b) {
  return ops::binary(ctx.graph(), ctx.fresh_name(), fn, a, b);
}

ValueId cast(NodeContext& ctx, ValueId x, DType to) {
  return ops::cast(ctx.graph(), ctx.fresh_name(), x, to);
}

ValueId reshape(NodeContext& ctx, ValueId x, SymShape shape) {
  return ops::reshape(ctx.graph(), ctx.fresh_name(), x, std::move(shape));
}

ValueId transpose(NodeContext& ctx, ValueId x, const Perm& perm) {
  return ops::transpose(ctx.graph(), ctx.fresh_name(), x, perm);
}

ValueId unsqueeze(NodeContext& ctx, ValueId x, std::vector<std::int64_t> axes) {
  return ops::unsqueeze(ctx.graph(), ctx.fresh_name(), x, std::move(axes));
}

ValueId squeeze(NodeContext& ctx, ValueId x, std::vector<std::int64_t> axes) {
  return ops::squeeze(ctx.graph(), ctx.fresh_name(), x, std::move(axes));
}

Dim divide(const Dim& size, std::int64_t by, std::string_view what) {
  check(by > 0, ErrorKind::Shape, "{} is divided among {}, expected at least 1", what, by);
  if (const auto exact = exact_div(size, Dim(by))) return *exact;
  check(!size.is_const(), ErrorKind::Shape, "{} {} is not divisible by {}", what, size.str(), by);
  return floor_div(size, Dim(by));
}

}  // namespace treadle::onnx::nn
