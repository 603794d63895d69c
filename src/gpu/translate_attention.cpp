// Attention on a device.
#include "gpu/attention_plan.hpp"
#include "gpu/translators.hpp"
#include "ops/attention.hpp"

namespace treadle::gpu {

DeviceTranslation translate_attention(const TranslateContext& ctx) {
  const auto& op = *ctx.node.op->as<ops::Attention>();
  const DType dtype = ctx.in(0).dtype;
  if (dtype != DType::F32 && dtype != DType::F16)
    return refuse(fmt::format("no device kernel computes attention of {}", name_of(dtype)));
  const auto bind = [keep = ctx.node.op, &op](const BindContext& b) {
    const bool masked = b.in.size() > 3 && b.in[3] != nullptr;
    const AttentionPlan plan(
        attention_desc(op, op.offset.eval(b.symbols), b.in[0]->shape, b.in[1]->shape,
                       b.in[2]->shape, masked ? std::optional(b.in[3]->shape) : std::nullopt),
        b.in[0]->dtype);
    const auto run = [plan, masked](RunContext& c) {
      AttentionAddresses at{address(*c.in[0]), address(*c.in[1]), address(*c.in[2])};
      if (masked) at.mask = address(*c.in[3]);
      at.y = address(*c.out[0]);
      plan.run(queue(c), at, c.label);
    };
    return bound(run, 0, plan.name());
  };
  return {device_kernel("attention", bind), -1, {}};
}

}  // namespace treadle::gpu
