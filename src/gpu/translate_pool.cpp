#include "base/error.hpp"
#include "gpu/pool_plan.hpp"
#include "gpu/translators.hpp"
#include "ops/pool.hpp"

namespace treadle::gpu {
namespace {

class BoundPool final : public BoundKernel {
 public:
  BoundPool(PoolPlan plan, std::string_view name) : plan_(std::move(plan)), name_(name) {}
  std::size_t workspace_bytes() const override { return plan_.workspace_bytes(); }
  std::string_view variant() const override { return plan_.is_global() ? "reduce" : name_; }
  void run(RunContext& ctx) override {
    PoolAddresses at;
    at.x = address(*ctx.in[0]);
    at.y = address(*ctx.out[0]);
    if (ctx.out.size() > 1 && ctx.out[1]) at.indices = address(*ctx.out[1]);
    at.workspace = workspace(ctx);
    plan_.run(queue(ctx), at, ctx.label);
  }

 private:
  PoolPlan plan_;
  std::string_view name_;
};

}  // namespace

DeviceTranslation translate_pool(const TranslateContext& ctx) {
  const auto& op = *ctx.node.op->as<ops::Pool>();
  const DType dtype = ctx.in(0).dtype;
  if (auto why = why_no_pool(op, dtype, ctx.in(0).rank()); !why.empty())
    return refuse(std::move(why));
  const std::string_view name =
      op.layout == ops::Layout::ChannelsLast ? "pool_channels_last" : "pool_channels_first";
  return {device_kernel(name, [keep = ctx.node.op, &op, dtype, name](const BindContext& b) {
    PoolPlan plan(op, dtype, b.in[0]->shape);
    check(plan.output() == b.out[0]->shape, ErrorKind::Shape,
          "the output has shape {}, expected {}", b.out[0]->shape.str(), plan.output().str());
    return std::make_unique<BoundPool>(std::move(plan), name);
  })};
}

}  // namespace treadle::gpu
