#include "ops/one_hot.hpp"

#include "ops/checks.hpp"
#include "ops/copy.hpp"

namespace treadle::ops {

void OneHot::visit(ParamVisitor& v) const {
  v.param("axis", axis);
  v.param("depth", depth);
  v.param("fresh", fresh);
}

std::vector<Fact> OneHot::infer(InputFacts in) const {
  const Fact& indices = need(in, 0);
  const Fact& values = need(in, 1);
  need_integer(indices, 0);
  need_axis(axis, indices.rank() + 1);
  check(indices.rank() < kMaxRank, ErrorKind::Shape, "rank of {} is at the limit", indices.str());
  const Dim n = elements(values.shape);
  check(!n.is_const() || n.is(2), ErrorKind::Shape, "values must be [off, on], got {}",
        values.str());
  check(!depth.is_const() || depth.value() >= 0, ErrorKind::Shape, "depth is {}", depth.str());
  if (fresh) need_integer(need(in, 2), 2);
  SymShape shape = indices.shape;
  shape.insert(shape.begin() + axis, depth);
  return {Fact::tensor(values.dtype, std::move(shape))};
}

void OneHot::eval(EvalContext& ctx) const {
  const TensorView& indices = ctx.in(0);
  const TensorView& values = ctx.in(1);
  check(values.elements() == 2, ErrorKind::Shape, "values must be [off, on], got {}",
        values.shape.str());
  std::int64_t size = 0;
  if (fresh) {
    const auto given = read_ints(ctx.in(2));
    check(given.size() == 1 && given[0] >= 0, ErrorKind::Shape,
          "depth must be one non-negative element");
    size = given[0];
  } else {
    size = ctx.value_of(depth);
  }
  Shape shape = indices.shape;
  shape.insert(static_cast<int>(axis), size);
  const AxisView v = axis_view(shape, axis);
  const std::vector<std::int64_t> at = read_ints(indices);
  const auto body = [&](TensorView& y) {
    for (std::int64_t o = 0; o < v.outer; ++o) {
      for (std::int64_t d = 0; d < v.size; ++d) {
        for (std::int64_t i = 0; i < v.inner; ++i) {
          const std::int64_t index = at[static_cast<std::size_t>(o * v.inner + i)];
          const bool on = index == d || (index < 0 && index + v.size == d);
          copy_run(values.dtype, y.data, (o * v.size + d) * v.inner + i, values.data, on ? 1 : 0,
                   1);
        }
      }
    }
  };
  if (fresh) {
    allocate_output(ctx, 0, values.dtype, shape, body);
  } else {
    write_output(ctx, 0, values.dtype, shape, body);
  }
}

}  // namespace treadle::ops
