// Gather, GatherElements and GatherND on a device.
#include "gpu/gather_plan.hpp"
#include "gpu/translators.hpp"
#include "ops/gather_elements.hpp"
#include "ops/gather_nd.hpp"
#include "ops/move.hpp"

namespace treadle::gpu {
namespace {

// `parameter`: the axis, or the batch axes.
template <typename Plan>
DeviceTranslation translate(const TranslateContext& ctx, std::string_view name,
                            std::int64_t parameter) {
  if (std::string why = why_no_gather(ctx.in(0).dtype, ctx.in(1).dtype); !why.empty())
    return refuse(std::move(why));
  const auto bind = [parameter](const BindContext& b) {
    const Plan plan(parameter, *b.in[0], *b.in[1]);
    return bound([plan](RunContext& c) {
      plan.run(queue(c), address(*c.in[0]), address(*c.in[1]), address(*c.out[0]), c.label);
    });
  };
  return {device_kernel(name, bind), -1, {}};
}

}  // namespace

DeviceTranslation translate_gather(const TranslateContext& ctx) {
  return translate<GatherPlan>(ctx, "gather", ctx.node.op->as<ops::Gather>()->axis);
}

DeviceTranslation translate_gather_elements(const TranslateContext& ctx) {
  if (ctx.in(0).rank() > tk::kGatherAxes)
    return refuse(fmt::format("no device kernel gathers elements of rank {}", ctx.in(0).rank()));
  return translate<GatherElementsPlan>(ctx, "gather_elements",
                                       ctx.node.op->as<ops::GatherElements>()->axis);
}

DeviceTranslation translate_gather_nd(const TranslateContext& ctx) {
  const Dim& depth = ctx.in(1).shape.back();
  if (!depth.is_const() || depth.value() > tk::kGatherAxes)
    return refuse(fmt::format("no device kernel gathers by tuples of {}", depth.str()));
  return translate<GatherNdPlan>(ctx, "gather_nd", ctx.node.op->as<ops::GatherNd>()->batch_dims);
}

}  // namespace treadle::gpu
