// Cumulative sums and products on a device.
#include "gpu/cumulative_plan.hpp"
#include "gpu/translators.hpp"

namespace treadle::gpu {

DeviceTranslation translate_cumulative(const TranslateContext& ctx) {
  const DType dtype = ctx.in(0).dtype;
  if (dtype != DType::F32 && dtype != DType::F16)
    return refuse(fmt::format("no device kernel accumulates {}", name_of(dtype)));
  const auto bind = [keep = ctx.node.op](const BindContext& b) {
    const CumulativePlan plan(*keep->as<ops::Cumulative>(), b.in[0]->dtype, b.in[0]->shape);
    return bound([plan](RunContext& c) {
      plan.run(queue(c), address(*c.in[0]), address(*c.out[0]), c.label);
    });
  };
  return {device_kernel("cumulative", bind), -1, {}};
}

}  // namespace treadle::gpu
