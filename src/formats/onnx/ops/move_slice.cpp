// Slice, Split, Pad, CenterCropPad.
#include <numeric>

#include "formats/onnx/ops/move_helpers.hpp"
#include "ops/cumulative.hpp"
#include "ops/dynamic_shape.hpp"
#include "ops/shape_of.hpp"
#include "ops/slice_bounds.hpp"

namespace treadle::onnx {
namespace {

std::vector<std::int64_t> leading_axes(std::size_t count) {
  std::vector<std::int64_t> axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

ValueId static_slice(NodeContext& c, ValueId x, const std::vector<Dim>& starts,
                     const std::vector<Dim>& ends, std::vector<std::int64_t> axes,
                     std::vector<std::int64_t> steps) {
  if (steps.empty()) steps.assign(starts.size(), 1);
  check(
      ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size(),
      ErrorKind::Shape, "{} starts, {} ends, {} axes, {} steps", starts.size(), ends.size(),
      axes.size(), steps.size());
  const int rank = rank_of(c, x);
  for (std::int64_t& a : axes) a = ops::normal_axis(a, rank);
  ops::normal_axes(axes, rank);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dim size = shape_of(c, x)[static_cast<std::size_t>(axes[i])];
    const ops::SliceBounds b = ops::slice_bounds(size, starts[i], ends[i], steps[i]);
    x = slice(c, x, axes[i], b.start, b.length, steps[i]);
  }
  return x;
}

// Bounds that only the run knows; sizes of axes that it may touch become symbols.
ValueId dynamic_slice(NodeContext& c, const std::optional<std::vector<std::int64_t>>& axes) {
  SymShape sizes = c.fact(0).shape;
  const int rank = c.fact(0).rank();
  for (int i = 0; i < rank; ++i) {
    bool touched = !axes;
    for (std::size_t k = 0; axes && k < axes->size(); ++k) {
      touched = touched || ops::normal_axis((*axes)[k], rank) == i;
    }
    if (touched) sizes[static_cast<std::size_t>(i)] = c.graph().fresh_symbol("sliced");
  }
  std::vector<ValueId> inputs{c.in(0), c.in(1), c.in(2)};
  if (c.has(3) || c.has(4)) inputs.push_back(c.has(3) ? c.in(3) : ValueId{});
  if (c.has(4)) inputs.push_back(c.in(4));
  return c.add1(make_op<ops::DynamicSlice>(std::move(sizes)), std::move(inputs));
}

// Sizes of the parts of an even split: `count` of them, the last one smaller from opset 18 on.
std::vector<Dim> even_parts(NodeContext& c, const Dim& size, std::int64_t count) {
  check(count > 0, ErrorKind::Shape, "cannot split into {} parts", count);
  const bool uneven = c.opset() >= 18;
  std::vector<Dim> out;
  if (const auto exact = exact_div(size, count)) {
    out.assign(static_cast<std::size_t>(count), *exact);
    return out;
  }
  check(uneven || !size.is_const(), ErrorKind::Shape, "an axis of size {} has no {} equal parts",
        size.str(), count);
  const Dim part = uneven ? ceil_div(size, count) : floor_div(size, count);
  Dim left = size;
  for (std::int64_t i = 0; i < count; ++i) {
    if (part.is_const() && left.is_const()) {
      out.push_back(std::max<std::int64_t>(0, std::min(part.value(), left.value())));
    } else {
      out.push_back(i + 1 < count || !uneven ? part : max(left, 0));
    }
    left = left - part;
  }
  return out;
}

// Part sizes that only the run knows: slices between running sums.
std::vector<ValueId> dynamic_split(NodeContext& c, std::int64_t axis, std::size_t count) {
  const ValueId sizes = cast(c, c.in(1), DType::I64);
  const auto sums = [&](bool exclusive) {
    return c.add1(make_op<ops::Cumulative>(ops::CumulativeFn::Sum, 0, exclusive), {sizes});
  };
  const ValueId starts = sums(true);
  const ValueId ends = sums(false);
  const ValueId axes = ints_constant(c, {axis});
  std::vector<ValueId> out;
  for (std::size_t i = 0; i < count; ++i) {
    SymShape shape = c.fact(0).shape;
    shape[static_cast<std::size_t>(axis)] = c.graph().fresh_symbol("split");
    const auto at = static_cast<std::int64_t>(i);
    const ValueId first = slice(c, starts, 0, at, 1);
    const ValueId last = slice(c, ends, 0, at, 1);
    out.push_back(c.add1(make_op<ops::DynamicSlice>(shape), {c.in(0), first, last, axes}));
  }
  return out;
}

ops::PadMode pad_mode(NodeContext& c) {
  const std::string mode = c.string_attr("mode", "constant");
  if (mode == "constant") return ops::PadMode::Constant;
  if (mode == "reflect") return ops::PadMode::Reflect;
  if (mode == "edge") return ops::PadMode::Edge;
  if (mode == "wrap") return ops::PadMode::Wrap;
  fail(ErrorKind::Parse, "attribute 'mode' is '{}', expected constant, reflect, edge or wrap",
       mode);
}

// The value to pad with; none for zero.
ValueId pad_value(NodeContext& c) {
  if (c.opset() >= 11) return c.has(2) ? c.in(2) : ValueId{};
  const double value = c.float_attr("value", 0.0);
  if (value == 0) return {};
  return cast(c, c.constant_value(Tensor::scalar(static_cast<float>(value))), c.fact(0).dtype);
}

std::optional<std::vector<Dim>> pad_sizes(NodeContext& c) {
  if (c.opset() >= 11) return c.symbolic(1);
  const auto pads = c.ints_attr(c.opset() < 2 ? "paddings" : "pads");
  check(pads.has_value(), ErrorKind::Parse, "attribute 'pads' (ints) is required");
  return std::vector<Dim>(pads->begin(), pads->end());
}

}  // namespace

std::vector<ValueId> import_slice(NodeContext& c) {
  if (c.opset() < 10) {
    const auto starts = c.ints_attr("starts");
    const auto ends = c.ints_attr("ends");
    check(starts && ends, ErrorKind::Parse, "attributes 'starts' and 'ends' (ints) are required");
    const auto axes = c.ints_attr("axes");
    return {static_slice(c, c.in(0), {starts->begin(), starts->end()}, {ends->begin(), ends->end()},
                         axes ? *axes : leading_axes(starts->size()), {})};
  }
  const auto starts = c.symbolic(1);
  const auto ends = c.symbolic(2);
  std::optional<std::vector<std::int64_t>> axes;
  std::optional<std::vector<std::int64_t>> steps;
  if (c.has(3)) {
    axes = c.constant_ints(3);
  } else if (c.fact(1).rank() == 1 && c.fact(1).shape[0].is_const()) {
    const std::int64_t n = c.fact(1).shape[0].value();
    check(n <= c.fact(0).rank(), ErrorKind::Shape, "{} starts for rank {}", n, c.fact(0).rank());
    axes = leading_axes(static_cast<std::size_t>(n));
  }
  if (c.has(4)) {
    steps = c.constant_ints(4);
  } else {
    steps.emplace();
  }
  if (starts && ends && axes && steps) {
    std::vector<Dim> bounds = *starts;
    bounds.insert(bounds.end(), ends->begin(), ends->end());
    if (known_before(c, bounds, &c.fact(0))) {
      return {static_slice(c, c.in(0), *starts, *ends, *axes, *steps)};
    }
  }
  return {dynamic_slice(c, axes)};
}

std::vector<ValueId> import_split(NodeContext& c) {
  const SymShape from = c.fact(0).shape;
  const std::int64_t axis = axis_attr(c, 0, static_cast<int>(from.size()));
  const Dim& size = from[static_cast<std::size_t>(axis)];
  std::vector<Dim> parts;
  const auto attr = c.opset() < 13 ? c.ints_attr("split") : std::nullopt;
  if (attr) {
    parts.assign(attr->begin(), attr->end());
  } else if (c.has(1)) {
    const auto given = c.symbolic(1);
    if (!given || !known_before(c, *given, &c.fact(0))) return dynamic_split(c, axis, c.outputs());
    parts = *given;
  } else {
    const auto n = static_cast<std::int64_t>(c.outputs());
    const std::int64_t count = c.opset() >= 18 ? c.int_attr("num_outputs", n) : n;
    check(count >= n && count < (1 << 20), ErrorKind::Shape,
          "attribute 'num_outputs' is {}, the node has {} outputs", count, n);
    parts = even_parts(c, size, count);
  }
  check(parts.size() >= c.outputs(), ErrorKind::Shape, "{} parts for {} outputs", parts.size(),
        c.outputs());
  Dim total = 0;
  for (const Dim& p : parts) total = total + p;
  check(!total.is_const() || !size.is_const() || total == size, ErrorKind::Shape,
        "the parts sum to {}, axis {} has size {}", total.str(), axis, size.str());
  std::vector<ValueId> out;
  Dim at = 0;
  for (const Dim& p : parts) {
    check(!p.is_const() || p.value() >= 0, ErrorKind::Shape, "a part has size {}", p.str());
    out.push_back(slice(c, c.in(0), axis, at, p));
    at = at + p;
  }
  return out;
}

std::vector<ValueId> import_pad(NodeContext& c) {
  const int rank = c.fact(0).rank();
  const ops::PadMode mode = pad_mode(c);
  const auto pads = pad_sizes(c);
  const bool has_axes = c.opset() >= 18 && c.has(3);
  std::optional<std::vector<std::int64_t>> axes = leading_axes(static_cast<std::size_t>(rank));
  if (has_axes) axes = c.constant_ints(3);
  if (!pads || !axes || !known_before(c, *pads, &c.fact(0))) {
    std::vector<ValueId> inputs{c.in(0), c.in(1)};
    if (c.has(2) || has_axes) inputs.push_back(c.has(2) ? c.in(2) : ValueId{});
    if (has_axes) inputs.push_back(c.in(3));
    SymShape sizes = fresh_sizes(c, "padded", static_cast<std::size_t>(rank));
    return {c.add1(make_op<ops::DynamicPad>(std::move(sizes), mode), std::move(inputs))};
  }
  check(pads->size() == 2 * axes->size(), ErrorKind::Shape, "{} pads for {} axes", pads->size(),
        axes->size());
  auto op = std::make_shared<ops::Pad>();
  op->mode = mode;
  op->before.assign(static_cast<std::size_t>(rank), 0);
  op->after = op->before;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto a = static_cast<std::size_t>(ops::normal_axis((*axes)[i], rank));
    op->before[a] = (*pads)[i];
    op->after[a] = (*pads)[i + axes->size()];
  }
  std::vector<ValueId> inputs{c.in(0)};
  const ValueId value = pad_value(c);
  if (mode == ops::PadMode::Constant && value.present()) inputs.push_back(value);
  return {c.add1(std::move(op), std::move(inputs))};
}

namespace {

// CenterCropPad to sizes that only the run knows: the bounds are worked out as tensors.
ValueId computed_crop_pad(NodeContext& c, const std::vector<std::int64_t>& axes) {
  const ValueId two = ints_constant(c, {2});
  const ValueId places = ints_constant(c, axes);
  const auto sizes_of = [&](ValueId v) {
    return c.add1(make_op<ops::Gather>(0), {c.add1(make_op<ops::ShapeOf>(), {v}), places});
  };
  const ValueId size = sizes_of(c.in(0));
  const ValueId want = cast(c, c.in(1), DType::I64);
  const ValueId kept = binary(c, BinaryFn::Min, size, want);
  const ValueId start = binary(c, BinaryFn::Div, binary(c, BinaryFn::Sub, size, kept), two);
  const ValueId end = binary(c, BinaryFn::Add, start, kept);
  SymShape sizes = c.fact(0).shape;
  SymShape cropped = sizes;
  for (const std::int64_t a : axes) {
    cropped[static_cast<std::size_t>(a)] = c.graph().fresh_symbol("cropped");
    sizes[static_cast<std::size_t>(a)] = c.graph().fresh_symbol("centred");
  }
  const ValueId x =
      c.add1(make_op<ops::DynamicSlice>(std::move(cropped)), {c.in(0), start, end, places});
  // A size asked for that is negative makes the pads so, which Pad refuses.
  const ValueId more = binary(c, BinaryFn::Sub, want, sizes_of(x));
  const ValueId before = binary(c, BinaryFn::Div, more, two);
  const ValueId after = binary(c, BinaryFn::Sub, more, before);
  const ValueId pads = c.add1(make_op<ops::Concat>(0), {before, after});
  return c.add1(make_op<ops::DynamicPad>(std::move(sizes), ops::PadMode::Constant),
                {x, pads, ValueId{}, places});
}

}  // namespace

std::vector<ValueId> import_center_crop_pad(NodeContext& c) {
  ValueId x = c.in(0);
  const int rank = c.fact(0).rank();
  const auto target = c.symbolic(1);
  const auto given = c.ints_attr("axes");
  auto axes = given ? *given : leading_axes(static_cast<std::size_t>(rank));
  for (std::int64_t& a : axes) a = ops::normal_axis(a, rank);
  ops::normal_axes(axes, rank);
  if (!target || !known_before(c, *target, &c.fact(0))) {
    const Fact& f = c.fact(1);
    check(f.rank() == 1 &&
              (!f.shape[0].is_const() || f.shape[0].is(static_cast<std::int64_t>(axes.size()))),
          ErrorKind::Shape, "input 1 'shape' is {}, expected {} sizes", f.str(), axes.size());
    return {computed_crop_pad(c, axes)};
  }
  check(target->size() == axes.size(), ErrorKind::Shape, "{} sizes for {} axes", target->size(),
        axes.size());
  auto op = std::make_shared<ops::Pad>();
  op->before.assign(static_cast<std::size_t>(rank), 0);
  op->after = op->before;
  bool pads = false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = ops::normal_axis(axes[i], rank);
    const auto a = static_cast<std::size_t>(axis);
    const Dim size = shape_of(c, x)[a];
    const Dim& want = (*target)[i];
    const Dim crop = max(size - want, 0);
    x = slice(c, x, axis, floor_div(crop, 2), min(size, want));
    const Dim more = max(want - size, 0);
    op->before[a] = floor_div(more, 2);
    op->after[a] = more - op->before[a];
    pads = pads || !more.is(0);
  }
  return {pads ? c.add1(std::move(op), {x}) : x};
}

}  // namespace treadle::onnx
