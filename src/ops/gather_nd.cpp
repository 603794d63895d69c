#include "ops/gather_nd.hpp"

#include "graph/symbolic.hpp"
#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/index_tuples.hpp"

namespace treadle::ops {

void GatherNd::visit(ParamVisitor& v) const {
  v.param("batch_dims", batch_dims);
}

std::vector<Fact> GatherNd::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  const Fact& indices = need(in, 1);
  const std::int64_t k = tuple_size(x, indices, batch_dims);
  SymShape shape(indices.shape.begin(), indices.shape.end() - 1);
  for (std::size_t d = 0; d < static_cast<std::size_t>(batch_dims); ++d) {
    shape[d] = agree(shape[d], x.shape[d], "batch sizes of indices and input");
  }
  shape.insert(shape.end(), x.shape.begin() + batch_dims + k, x.shape.end());
  check(shape.size() <= kMaxRank, ErrorKind::Shape, "rank {} is above the limit of {}",
        shape.size(), kMaxRank);
  std::vector<Fact> out{Fact::tensor(x.dtype, std::move(shape))};
  fold_symbolic_moves(*this, in, out);
  return out;
}

void GatherNd::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const TensorView& indices = ctx.in(1);
  const IndexTuples t = index_tuples(x.shape, indices, batch_dims);
  Shape shape = indices.shape;
  const std::int64_t k = shape.back();
  shape.erase(shape.rank() - 1);
  for (std::size_t d = static_cast<std::size_t>(batch_dims + k); d < x.shape.size(); ++d) {
    shape.push_back(x.shape[d]);
  }
  write_output(ctx, 0, x.dtype, shape, [&](TensorView& y) {
    std::int64_t to = 0;
    for (const std::int64_t from : t.offsets) {
      copy_run(x.dtype, y.data, to, x.data, from, t.run);
      to += t.run;
    }
  });
}

}  // namespace treadle::ops
