#include "ops/dynamic_resize.hpp"

#include <algorithm>
#include <cmath>

#include "graph/evaluate.hpp"
#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/numeric.hpp"

namespace treadle::ops {
namespace {

bool given(EvalContext& ctx, std::size_t i) {
  return i < ctx.inputs() && ctx.input(i) != nullptr;
}

void need_one_an_axis(std::size_t count, std::string_view what, std::size_t axes) {
  check(count == axes, ErrorKind::Shape, "{} {} for {} axes", count, what, axes);
}

}  // namespace

void DynamicResize::visit(ParamVisitor& v) const {
  proto.visit(v);
  v.param("axes", axes);
  v.param("policy", static_cast<std::int64_t>(policy));
}

std::vector<Fact> DynamicResize::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  if (const Fact* sizes = maybe(in, 1)) need_integer(*sizes, 1);
  check(maybe(in, 1) == nullptr || maybe(in, 2) == nullptr, ErrorKind::Shape,
        "sizes and scales must not both be given");
  check(proto.sizes.size() == x.shape.size(), ErrorKind::Shape, "{} sizes for input {}",
        proto.sizes.size(), x.str());
  for (const std::int64_t axis : axes) need_axis(axis, x.rank());
  return {Fact::tensor(x.dtype, proto.sizes)};
}

void DynamicResize::eval(EvalContext& ctx) const {
  const Shape& shape = ctx.in(0).shape;
  Resize op = proto;
  if (given(ctx, 3)) set_region(op, shape.size(), axes, read_doubles(ctx.in(3)));
  if (given(ctx, 1)) {
    const auto sizes = read_ints(ctx.in(1));
    need_one_an_axis(sizes.size(), "sizes", axes.size());
    op.sizes = to_sym(shape);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      op.sizes[static_cast<std::size_t>(axes[i])] = sizes[i];
    }
    keep_aspect(op, shape, axes, policy);
  } else if (given(ctx, 2)) {
    const auto scales = read_doubles(ctx.in(2));
    need_one_an_axis(scales.size(), "scales", axes.size());
    op.sizes = to_sym(shape);
    op.scales.assign(shape.size(), 1.0);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto a = static_cast<std::size_t>(axes[i]);
      op.scales[a] = scales[i];
      op.sizes[a] = scaled_size(shape[a], scales[i]);
    }
  } else {
    op.sizes = to_sym(shape_of(ctx, proto.sizes));
  }
  const Value* inputs[] = {&ctx.input_value(0)};
  ctx.set_output(0, evaluate(op, inputs).front());
}

void keep_aspect(Resize& r, const Shape& from, const std::vector<std::int64_t>& axes,
                 AspectPolicy policy) {
  if (policy == AspectPolicy::Stretch) return;
  double best = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto a = static_cast<std::size_t>(axes[i]);
    check(from[a] > 0, ErrorKind::Shape, "axis {} of the input is empty", a);
    const double scale = static_cast<double>(r.sizes[a].value()) / static_cast<double>(from[a]);
    const bool larger = policy == AspectPolicy::NotSmaller;
    best = i == 0 ? scale : larger ? std::max(best, scale) : std::min(best, scale);
  }
  r.scales.assign(r.sizes.size(), 1.0);
  for (const std::int64_t axis : axes) {
    const auto a = static_cast<std::size_t>(axis);
    // Rounded half up.
    const double size = std::floor(best * static_cast<double>(from[a]) + 0.5);
    check(size >= 0 && size < 1e15, ErrorKind::Shape, "axis {} would have size {}", a, size);
    r.sizes[a] = static_cast<std::int64_t>(size);
    r.scales[a] = best;
  }
}

void set_region(Resize& r, std::size_t rank, const std::vector<std::int64_t>& axes,
                const std::vector<double>& roi) {
  need_one_an_axis(roi.size(), "values of the roi", 2 * axes.size());
  r.roi.assign(rank, 0.0);
  r.roi.resize(2 * rank, 1.0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    r.roi[static_cast<std::size_t>(axes[i])] = roi[i];
    r.roi[rank + static_cast<std::size_t>(axes[i])] = roi[axes.size() + i];
  }
}

std::int64_t scaled_size(std::int64_t size, double scale) {
  const float out = std::floor(static_cast<float>(size) * static_cast<float>(scale));
  check(out >= 0 && out < 4.0e18f, ErrorKind::Shape, "scale {} of size {} gives no size", scale,
        size);
  return static_cast<std::int64_t>(out);
}

}  // namespace treadle::ops
