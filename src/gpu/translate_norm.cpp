// Normalisation on a device.
#include "cpu/split.hpp"
#include "gpu/norm_plan.hpp"
#include "gpu/translators.hpp"
#include "ops/norm.hpp"

namespace treadle::gpu {

DeviceTranslation translate_norm(const TranslateContext& ctx) {
  const auto& op = *ctx.node.op->as<ops::Norm>();
  const DType dtype = ctx.in(0).dtype;
  if (dtype != DType::F32 && dtype != DType::F16)
    return refuse(fmt::format("no device kernel normalises {}", name_of(dtype)));
  if (!cpu::are_neighbours(op.axes)) return refuse("the axes of the norm are not neighbours");
  const auto bind = [first = op.axes.front(), last = op.axes.back(), center = op.center,
                     epsilon = op.epsilon](const BindContext& b) {
    const NormPlan plan(cpu::split_around(b.in[0]->shape, first, last), b.in[0]->dtype, center,
                        epsilon);
    return bound(
        [plan](RunContext& c) {
          plan.run(queue(c), address(*c.in[0]), address(*c.out[0]), workspace(c), c.label);
        },
        plan.workspace_bytes());
  };
  return {device_kernel("norm", bind), -1, {}};
}

}  // namespace treadle::gpu
