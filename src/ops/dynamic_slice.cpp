#include <limits>

#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/move.hpp"
#include "ops/slice_bounds.hpp"

namespace treadle::ops {
namespace {

const TensorView* optional_input(EvalContext& ctx, std::size_t i) {
  return i < ctx.inputs() ? ctx.input(i) : nullptr;
}

}  // namespace

void DynamicSlice::visit(ParamVisitor& v) const {
  v.param("sizes", sizes);
}

std::vector<Fact> DynamicSlice::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  check(sizes.size() == x.shape.size(), ErrorKind::Shape, "{} output sizes for input {}",
        sizes.size(), x.str());
  for (std::size_t i = 1; i < in.size(); ++i) {
    const Fact* f = i < 3 ? &need(in, i) : maybe(in, i);
    if (f == nullptr) continue;
    need_integer(*f, i);
    need_rank(*f, 1, i);
  }
  return {Fact::tensor(x.dtype, sizes)};
}

void DynamicSlice::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const auto starts = read_ints(ctx.in(1));
  const auto ends = read_ints(ctx.in(2));
  std::vector<std::int64_t> axes;
  std::vector<std::int64_t> steps(starts.size(), 1);
  if (const TensorView* a = optional_input(ctx, 3)) {
    axes = read_ints(*a);
  } else {
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (const TensorView* s = optional_input(ctx, 4)) steps = read_ints(*s);
  check(
      ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size(),
      ErrorKind::Shape, "{} starts, {} ends, {} axes, {} steps", starts.size(), ends.size(),
      axes.size(), steps.size());
  Strided from{0, row_major({x.shape.data(), x.shape.size()})};
  Shape shape = x.shape;
  std::vector<bool> seen(x.shape.size(), false);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::int64_t axis = axes[i] < 0 ? axes[i] + x.shape.rank() : axes[i];
    need_axis(axis, x.shape.rank());
    const auto a = static_cast<std::size_t>(axis);
    check(!seen[a], ErrorKind::Shape, "axis {} stands twice", axis);
    seen[a] = true;
    const ConcreteSlice s = slice_bounds(x.shape[a], starts[i], ends[i], steps[i]);
    shape[a] = s.length;
    from.offset += s.start * from.strides[a];
    from.strides[a] *= s.length > 1 ? steps[i] : 1;
  }
  const std::span<const std::int64_t> dims(shape.data(), shape.size());
  allocate_output(ctx, 0, x.dtype, shape, [&](TensorView& y) {
    copy_strided(x.dtype, dims, y.data, {0, row_major(dims)}, x.data, from);
  });
}

}  // namespace treadle::ops
