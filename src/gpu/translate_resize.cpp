// Resizing on a device.
#include "gpu/resize_plan.hpp"
#include "gpu/translators.hpp"

namespace treadle::gpu {

DeviceTranslation translate_resize(const TranslateContext& ctx) {
  const auto& op = *ctx.node.op->as<ops::Resize>();
  if (std::string why = why_no_resize(op, ctx.in(0).dtype); !why.empty())
    return refuse(std::move(why));
  const auto bind = [keep = ctx.node.op, &device = ctx.device](const BindContext& b) {
    ResizePlan plan(device, *keep->as<ops::Resize>(), b.in[0]->dtype, b.in[0]->shape,
                    b.out[0]->shape);
    const std::size_t bytes = plan.workspace_bytes();
    return bound(
        [plan = std::move(plan)](RunContext& c) {
          plan.run(queue(c), address(*c.in[0]), address(*c.out[0]), workspace(c), c.label);
        },
        bytes);
  };
  return {device_kernel("resize", bind), -1, {}};
}

}  // namespace treadle::gpu
