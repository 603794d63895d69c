// Reductions and arg-reductions on a device.
#include "gpu/reduce_plan.hpp"
#include "gpu/translators.hpp"

namespace treadle::gpu {

DeviceTranslation translate_reduce(const TranslateContext& ctx) {
  const auto& op = *ctx.node.op->as<ops::Reduce>();
  if (std::string why = why_no_reduce(op.fn, ctx.in(0).dtype); !why.empty())
    return refuse(std::move(why));
  const auto bind = [fn = op.fn, axes = op.axes](const BindContext& b) {
    ReducePlan plan(fn, b.in[0]->dtype, b.in[0]->shape, axes);
    const std::size_t bytes = plan.workspace_bytes();
    return bound(
        [plan = std::move(plan)](RunContext& c) {
          plan.run(queue(c), address(*c.in[0]), address(*c.out[0]), workspace(c), c.label);
        },
        bytes);
  };
  return {device_kernel("reduce", bind), -1, {}};
}

DeviceTranslation translate_arg_reduce(const TranslateContext& ctx) {
  const DType dtype = ctx.in(0).dtype;
  if (dtype != DType::F32 && dtype != DType::F16)
    return refuse(fmt::format("no device kernel finds the extremes of {}", name_of(dtype)));
  if (ctx.node.op->as<ops::ArgReduce>()->skip_nan)
    return refuse("no device kernel passes over NaN in a search for extremes");
  const auto bind = [keep = ctx.node.op](const BindContext& b) {
    const ArgReducePlan plan(*keep->as<ops::ArgReduce>(), b.in[0]->dtype, b.in[0]->shape);
    return bound([plan](RunContext& c) {
      plan.run(queue(c), address(*c.in[0]), address(*c.out[0]), c.label);
    });
  };
  return {device_kernel("arg_reduce", bind), -1, {}};
}

}  // namespace treadle::gpu
