#include "ops/scatter_elements.hpp"

#include "ops/checks.hpp"
#include "ops/copy.hpp"

namespace treadle::ops {

void ScatterElements::visit(ParamVisitor& v) const {
  v.param("axis", axis);
  v.param("reduce", name_of(reduce));
}

std::vector<Fact> ScatterElements::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  const Fact& indices = need(in, 1);
  const Fact& updates = need(in, 2);
  need_axis(axis, x.rank());
  need_integer(indices, 1);
  need_rank(indices, x.rank(), 1);
  need_rank(updates, x.rank(), 2);
  need_dtype(updates, x.dtype, 2);
  check_reduce(reduce, x.dtype);
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    agree(indices.shape[d], updates.shape[d], "sizes of indices and updates");
  }
  return {Fact::tensor(x.dtype, x.shape)};
}

void ScatterElements::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const TensorView& indices = ctx.in(1);
  const TensorView& updates = ctx.in(2);
  const auto a = static_cast<std::size_t>(axis);
  check(indices.shape == updates.shape, ErrorKind::Shape, "indices {} and updates {} differ",
        indices.shape.str(), updates.shape.str());
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    check(d == a || indices.shape[d] <= x.shape[d], ErrorKind::Shape,
          "indices {} exceed input {} on axis {}", indices.shape.str(), x.shape.str(), d);
  }
  const std::vector<std::int64_t> at = read_ints(indices);
  const auto strides = row_major({x.shape.data(), x.shape.size()});
  write_output(ctx, 0, x.dtype, x.shape, [&](TensorView& y) {
    copy_run(x.dtype, y.data, 0, x.data, 0, x.elements());
    std::int64_t from = 0;
    for_each_index(indices.shape, [&](const std::vector<std::int64_t>& i) {
      std::int64_t to =
          wrap_index(at[static_cast<std::size_t>(from)], x.shape[a], axis) * strides[a];
      for (std::size_t d = 0; d < i.size(); ++d) {
        if (d != a) to += i[d] * strides[d];
      }
      scatter_run(reduce, x.dtype, y.data, to, updates.data, from++, 1);
    });
  });
}

}  // namespace treadle::ops
