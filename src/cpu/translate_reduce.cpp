#include <optional>

#include "base/error.hpp"
#include "cpu/split.hpp"
#include "cpu/translators.hpp"
#include "kernels/reduce/reduce.hpp"
#include "ops/reduce.hpp"

namespace treadle::cpu {
namespace {

using kernels::AfterFold;
using kernels::Fold;

struct Plan {
  Fold fold;
  AfterFold after = AfterFold::None;
};

std::optional<Plan> plan_of(ops::ReduceFn fn) {
  switch (fn) {
    case ops::ReduceFn::Sum:
      return Plan{Fold::Sum};
    case ops::ReduceFn::Mean:
      return Plan{Fold::Sum, AfterFold::Mean};
    case ops::ReduceFn::Prod:
      return Plan{Fold::Prod};
    case ops::ReduceFn::Max:
      return Plan{Fold::Max};
    case ops::ReduceFn::Min:
      return Plan{Fold::Min};
    case ops::ReduceFn::SumSquare:
      return Plan{Fold::SumSquare};
    case ops::ReduceFn::L1:
      return Plan{Fold::SumAbs};
    case ops::ReduceFn::L2:
      return Plan{Fold::SumSquare, AfterFold::Sqrt};
    default:
      return std::nullopt;
  }
}

}  // namespace

Translation translate_reduce(const TranslateContext& ctx) {
  const auto* op = ctx.node.op->as<ops::Reduce>();
  const auto plan = plan_of(op->fn);
  if (ctx.in(0).dtype != DType::F32 || !plan) return {};
  return {kernel("reduce_f32", [plan = *plan, axes = op->axes](const BindContext& b) {
    kernels::BoundReduce run(plan.fold, plan.after, b.in[0]->shape, axes);
    return bound([run = std::move(run)](RunContext& c) {
      run.run(c.in[0]->as<const float>(), c.out[0]->as<float>(), c.parallel);
    });
  })};
}

Translation translate_arg_reduce(const TranslateContext& ctx) {
  const auto* op = ctx.node.op->as<ops::ArgReduce>();
  if (ctx.in(0).dtype != DType::F32) return {};
  return {
      kernel("arg_reduce_f32", [rules = kernels::ArgRules{op->max, op->select_last, op->skip_nan},
                                axis = op->axis](const BindContext& b) {
        const Shape& shape = b.in[0]->shape;
        const kernels::Split split = split_around(shape, axis, axis);
        check(split.length > 0 || split.outer * split.inner == 0, ErrorKind::Shape,
              "axis {} of {} is empty and has no extreme", axis, shape.str());
        return bound([=, table = &kernels::rows()](RunContext& c) {
          kernels::arg_reduce(*table, split, rules, c.in[0]->as<const float>(),
                              c.out[0]->as<std::int64_t>(), c.parallel);
        });
      })};
}

}  // namespace treadle::cpu
