#include "ops/tensor_scatter.hpp"

#include "ops/checks.hpp"
#include "ops/copy.hpp"

namespace treadle::ops {

void TensorScatter::visit(ParamVisitor& v) const {
  v.param("axis", axis);
  v.param("circular", circular);
}

std::vector<Fact> TensorScatter::infer(InputFacts in) const {
  const Fact& cache = need(in, 0);
  const Fact& update = need(in, 1);
  need_axis(axis, cache.rank());
  check(axis > 0, ErrorKind::Shape, "axis 0 is the batch");
  need_dtype(update, cache.dtype, 1);
  need_rank(update, cache.rank(), 1);
  for (std::size_t d = 0; d < cache.shape.size(); ++d) {
    if (static_cast<std::int64_t>(d) == axis) continue;
    agree(cache.shape[d], update.shape[d], "sizes of cache and update");
  }
  if (const Fact* positions = maybe(in, 2)) {
    need_integer(*positions, 2);
    need_rank(*positions, 1, 2);
    agree(positions->shape[0], cache.shape[0], "numbers of positions and batches");
  }
  return {Fact::tensor(cache.dtype, cache.shape)};
}

void TensorScatter::eval(EvalContext& ctx) const {
  const TensorView& cache = ctx.in(0);
  const TensorView& update = ctx.in(1);
  const auto a = static_cast<std::size_t>(axis);
  std::vector<std::int64_t> positions(static_cast<std::size_t>(cache.shape[0]), 0);
  if (ctx.inputs() > 2 && ctx.input(2) != nullptr) {
    const auto given = read_ints(ctx.in(2));
    check(given.size() == positions.size(), ErrorKind::Shape, "{} positions for {} batches",
          given.size(), positions.size());
    positions = given;
  }
  Shape expected = cache.shape;
  expected[a] = update.shape[a];
  check(update.shape == expected && update.shape[a] <= cache.shape[a], ErrorKind::Shape,
        "update {} does not fit cache {}", update.shape.str(), cache.shape.str());
  const AxisView v = axis_view(cache.shape, axis);
  const std::int64_t length = update.shape[a];
  write_output(ctx, 0, cache.dtype, cache.shape, [&](TensorView& y) {
    copy_run(cache.dtype, y.data, 0, cache.data, 0, cache.elements());
    if (update.elements() == 0) return;
    const std::int64_t rows = v.outer / cache.shape[0];
    for (std::int64_t o = 0; o < v.outer; ++o) {
      const std::int64_t first = positions[static_cast<std::size_t>(o / rows)];
      check(first >= 0 && (circular || first <= v.size - length), ErrorKind::Shape,
            "position {} for {} elements leaves axis {} of size {}", first, length, axis, v.size);
      for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t at = (first % v.size + i) % v.size;
        const std::int64_t to = circular ? at : first + i;
        copy_run(cache.dtype, y.data, (o * v.size + to) * v.inner, update.data,
                 (o * length + i) * v.inner, v.inner);
      }
    }
  });
}

}  // namespace treadle::ops
