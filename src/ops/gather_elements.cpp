#include "ops/gather_elements.hpp"

#include "graph/symbolic.hpp"
#include "ops/checks.hpp"
#include "ops/copy.hpp"

namespace treadle::ops {

void GatherElements::visit(ParamVisitor& v) const {
  v.param("axis", axis);
}

std::vector<Fact> GatherElements::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  const Fact& indices = need(in, 1);
  need_axis(axis, x.rank());
  need_integer(indices, 1);
  need_rank(indices, x.rank(), 1);
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    if (static_cast<std::int64_t>(d) == axis) continue;
    check(!x.shape[d].is_const() || !indices.shape[d].is_const() ||
              indices.shape[d].value() <= x.shape[d].value(),
          ErrorKind::Shape, "indices {} exceed input {} on axis {}", indices.str(), x.str(), d);
  }
  std::vector<Fact> out{Fact::tensor(x.dtype, indices.shape)};
  fold_symbolic_moves(*this, in, out);
  return out;
}

void GatherElements::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const TensorView& indices = ctx.in(1);
  const std::vector<std::int64_t> at = read_ints(indices);
  const auto a = static_cast<std::size_t>(axis);
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    check(d == a || indices.shape[d] <= x.shape[d], ErrorKind::Shape,
          "indices {} exceed input {} on axis {}", indices.shape.str(), x.shape.str(), d);
  }
  const auto strides = row_major({x.shape.data(), x.shape.size()});
  write_output(ctx, 0, x.dtype, indices.shape, [&](TensorView& y) {
    std::int64_t to = 0;
    for_each_index(indices.shape, [&](const std::vector<std::int64_t>& i) {
      std::int64_t from =
          wrap_index(at[static_cast<std::size_t>(to)], x.shape[a], axis) * strides[a];
      for (std::size_t d = 0; d < i.size(); ++d) {
        if (d != a) from += i[d] * strides[d];
      }
      copy_run(x.dtype, y.data, to++, x.data, from, 1);
    });
  });
}

}  // namespace treadle::ops
