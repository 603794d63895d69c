// Attention on a device.
#include "gpu/attention_plan.hpp"
#include "gpu/translators.hpp"
#include "ops/attention.hpp"

namespace treadle::gpu {
namespace {

class BoundAttention final : public BoundKernel {
 public:
  BoundAttention(const ops::Attention& op, const BindContext& b)
      : masked_(b.in.size() > 3 && b.in[3] != nullptr),
        plan_(
            attention_desc(op, op.offset.eval(b.symbols), b.in[0]->shape, b.in[1]->shape,
                           b.in[2]->shape, masked_ ? std::optional(b.in[3]->shape) : std::nullopt),
            b.in[0]->dtype) {}

  std::size_t workspace_bytes() const override { return plan_.workspace_bytes(); }
  std::string_view variant() const override { return plan_.name(); }
  void run(RunContext& c) override {
    AttentionAddresses at{address(*c.in[0]), address(*c.in[1]), address(*c.in[2])};
    if (masked_) at.mask = address(*c.in[3]);
    at.y = address(*c.out[0]);
    plan_.run(queue(c), at, workspace(c), c.label);
  }

 private:
  bool masked_;
  AttentionPlan plan_;
};

}  // namespace

DeviceTranslation translate_attention(const TranslateContext& ctx) {
  const auto& op = *ctx.node.op->as<ops::Attention>();
  const DType dtype = ctx.in(0).dtype;
  if (dtype != DType::F32 && dtype != DType::F16)
    return refuse(fmt::format("no device kernel computes attention of {}", name_of(dtype)));
  const auto bind = [keep = ctx.node.op, &op](const BindContext& b) {
    return std::make_unique<BoundAttention>(op, b);
  };
  return {device_kernel("attention", bind), -1, {}};
}

}  // namespace treadle::gpu
