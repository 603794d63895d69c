#include "ops/dynamic_reduce.hpp"

#include <algorithm>
#include <numeric>

#include "ops/build.hpp"
#include "ops/checks.hpp"

namespace treadle::ops {

void DynamicReduce::visit(ParamVisitor& v) const {
  v.param("fn", name_of(fn));
  v.param("keep_dims", keep_dims);
  v.param("noop_with_empty_axes", noop_with_empty_axes);
  v.param("sizes", sizes);
}

std::vector<Fact> DynamicReduce::infer(InputFacts in) const {
  need_inputs(in, 2);
  const Fact& x = need(in, 0);
  check(!keep_dims || x.shape.size() == sizes.size(), ErrorKind::Shape,
        "input 0 'x' has shape {}, expected rank {}", str(x.shape), sizes.size());
  const Fact& axes = need(in, 1);
  need_integer(axes, 1);
  return {Fact::tensor(Reduce(fn, {}).infer(std::span(&in[0], 1)).front().dtype, sizes)};
}

void DynamicReduce::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  auto axes = normal_axes(read_ints(ctx.in(1)), x.shape.rank());
  if (axes.empty() && !noop_with_empty_axes) {
    axes.resize(x.shape.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  Shape kept = x.shape;
  for (const std::int64_t a : axes) kept[static_cast<std::size_t>(a)] = 1;
  Tensor out(x.dtype, kept);
  reduce_elements(fn, x, out.view());
  if (!keep_dims) {
    for (auto a = axes.rbegin(); a != axes.rend(); ++a) kept.erase(static_cast<int>(*a));
    out = out.reshaped(kept);
  }
  ctx.set_output(0, std::move(out));
}

}  // namespace treadle::ops
