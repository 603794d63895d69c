#include "ops/dynamic_axis.hpp"

#include "graph/evaluate.hpp"
#include "ops/axis.hpp"
#include "ops/build.hpp"
#include "ops/checks.hpp"

namespace treadle::ops {
namespace {

const Fact& checked_input(InputFacts in) {
  need_inputs(in, 2);
  const Fact& x = need(in, 0);
  need_integer(need(in, 1), 1);
  need_rank(need(in, 1), 1, 1);
  return x;
}

// Runs Squeeze or Unsqueeze now that the axes are known; they count over rank `rank`.
template <typename Static>
void run_with_axes(EvalContext& ctx, int rank) {
  const Value* inputs[] = {&ctx.input_value(0)};
  ctx.set_output(0, evaluate(Static(normal_axes(read_ints(ctx.in(1)), rank)), inputs).front());
}

}  // namespace

void DynamicSqueeze::visit(ParamVisitor& v) const {
  v.param("sizes", sizes);
}

std::vector<Fact> DynamicSqueeze::infer(InputFacts in) const {
  return {Fact::tensor(checked_input(in).dtype, sizes)};
}

void DynamicSqueeze::eval(EvalContext& ctx) const {
  run_with_axes<Squeeze>(ctx, ctx.in(0).shape.rank());
}

void DynamicUnsqueeze::visit(ParamVisitor& v) const {
  v.param("sizes", sizes);
}

std::vector<Fact> DynamicUnsqueeze::infer(InputFacts in) const {
  return {Fact::tensor(checked_input(in).dtype, sizes)};
}

void DynamicUnsqueeze::eval(EvalContext& ctx) const {
  run_with_axes<Unsqueeze>(ctx, static_cast<int>(sizes.size()));
}

}  // namespace treadle::ops
