#include "ops/scatter_nd.hpp"

#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/index_tuples.hpp"

namespace treadle::ops {

void ScatterNd::visit(ParamVisitor& v) const {
  v.param("reduce", name_of(reduce));
}

std::vector<Fact> ScatterNd::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  const Fact& indices = need(in, 1);
  const Fact& updates = need(in, 2);
  need_dtype(updates, x.dtype, 2);
  check_reduce(reduce, x.dtype);
  const std::int64_t k = tuple_size(x, indices, 0);
  SymShape want(indices.shape.begin(), indices.shape.end() - 1);
  want.insert(want.end(), x.shape.begin() + k, x.shape.end());
  need_rank(updates, static_cast<int>(want.size()), 2);
  for (std::size_t d = 0; d < want.size(); ++d) {
    agree(want[d], updates.shape[d], "sizes of updates and of indices and input");
  }
  return {Fact::tensor(x.dtype, x.shape)};
}

void ScatterNd::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const TensorView& updates = ctx.in(2);
  const IndexTuples t = index_tuples(x.shape, ctx.in(1), 0);
  check(updates.elements() == checked_mul(static_cast<std::int64_t>(t.offsets.size()), t.run),
        ErrorKind::Shape, "updates {} do not hold {} slices of {} elements", updates.shape.str(),
        t.offsets.size(), t.run);
  write_output(ctx, 0, x.dtype, x.shape, [&](TensorView& y) {
    copy_run(x.dtype, y.data, 0, x.data, 0, x.elements());
    std::int64_t from = 0;
    for (const std::int64_t to : t.offsets) {
      scatter_run(reduce, x.dtype, y.data, to, updates.data, from, t.run);
      from += t.run;
    }
  });
}

}  // namespace treadle::ops
