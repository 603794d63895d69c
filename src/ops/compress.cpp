#include "ops/compress.hpp"

#include "ops/checks.hpp"
#include "ops/copy.hpp"

namespace treadle::ops {

void Compress::visit(ParamVisitor& v) const {
  if (axis) v.param("axis", *axis);
  v.param("count", count);
}

std::vector<Fact> Compress::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  const Fact& condition = need(in, 1);
  need_dtype(condition, DType::Bool, 1);
  need_rank(condition, 1, 1);
  SymShape shape{count};
  if (axis) {
    need_axis(*axis, x.rank());
    shape = x.shape;
    shape[static_cast<std::size_t>(*axis)] = count;
  }
  return {Fact::tensor(x.dtype, std::move(shape))};
}

void Compress::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const auto condition = ctx.in(1).span<bool>();
  AxisView v{1, x.elements(), 1};
  if (axis) v = axis_view(x.shape, *axis);
  check(static_cast<std::int64_t>(condition.size()) <= v.size, ErrorKind::Shape,
        "condition has {} elements, the axis {}", condition.size(), v.size);
  std::vector<std::int64_t> hits;
  for (std::size_t i = 0; i < condition.size(); ++i) {
    if (condition[i]) hits.push_back(static_cast<std::int64_t>(i));
  }
  const auto n = static_cast<std::int64_t>(hits.size());
  Shape shape{n};
  if (axis) {
    shape = x.shape;
    shape[static_cast<std::size_t>(*axis)] = n;
  }
  allocate_output(ctx, 0, x.dtype, shape, [&](TensorView& y) {
    std::int64_t to = 0;
    for (std::int64_t o = 0; o < v.outer; ++o) {
      for (const std::int64_t h : hits) {
        copy_run(x.dtype, y.data, to, x.data, (o * v.size + h) * v.inner, v.inner);
        to += v.inner;
      }
    }
  });
}

}  // namespace treadle::ops
