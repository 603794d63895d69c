// Softmax on a device.
#include "cpu/split.hpp"
#include "gpu/softmax_plan.hpp"
#include "gpu/translators.hpp"
#include "ops/softmax.hpp"

namespace treadle::gpu {

DeviceTranslation translate_softmax(const TranslateContext& ctx) {
  const auto& op = *ctx.node.op->as<ops::Softmax>();
  const DType dtype = ctx.in(0).dtype;
  if (dtype != DType::F32 && dtype != DType::F16)
    return refuse(fmt::format("no device kernel computes a softmax of {}", name_of(dtype)));
  if (!cpu::are_neighbours(op.axes)) return refuse("the axes of the softmax are not neighbours");
  const auto bind = [first = op.axes.front(), last = op.axes.back(),
                     log = op.log](const BindContext& b) {
    const SoftmaxPlan plan(cpu::split_around(b.in[0]->shape, first, last), b.in[0]->dtype, log);
    return bound([plan](RunContext& c) {
      plan.run(queue(c), address(*c.in[0]), address(*c.out[0]), c.label);
    });
  };
  return {device_kernel("softmax", bind), -1, {}};
}

}  // namespace treadle::gpu
