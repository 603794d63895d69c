// Unary, Binary, Select and Cast on a device.
#include "gpu/elementwise_ops.hpp"
#include "gpu/elementwise_plan.hpp"
#include "gpu/kernels/elementwise_params.hpp"
#include "gpu/translators.hpp"
#include "ops/binary.hpp"
#include "ops/cast.hpp"
#include "ops/unary.hpp"

namespace treadle::gpu {
namespace {

constexpr std::size_t kMostInputs = tk::kElementwiseInputs;
constexpr int kMostAxes = 6;

std::string why_no_rank(const Fact& out) {
  // Axes of known size may merge; the plan tells.
  return out.rank() > kMostAxes && !is_const(out.shape) ? "it has more than 6 axes of unknown size"
                                                        : std::string();
}

class BoundElementwise final : public BoundKernel {
 public:
  explicit BoundElementwise(ElementwisePlan plan) : plan_(std::move(plan)) {}
  void run(RunContext& ctx) override {
    DeviceAddress inputs[kMostInputs];
    for (std::size_t i = 0; i < ctx.in.size(); ++i) inputs[i] = address(*ctx.in[i]);
    plan_.run(queue(ctx), {inputs, ctx.in.size()}, address(*ctx.out[0]), ctx.label);
  }

 private:
  ElementwisePlan plan_;
};

// A kernel of a plan over all inputs, in their order; `steps` adds what is done with them.
template <typename F>
KernelPtr elementwise(std::string_view name, OperatorPtr keep, F steps) {
  return device_kernel(name, [keep = std::move(keep), steps](const BindContext& b) {
    ElementwisePlan plan(b.out[0]->dtype, b.out[0]->shape);
    for (const TensorView* in : b.in) plan.input(in->dtype, in->shape);
    steps(plan);
    plan.check_sizes();
    return std::make_unique<BoundElementwise>(std::move(plan));
  });
}

}  // namespace

DeviceTranslation translate_unary(const TranslateContext& ctx) {
  if (auto why = why_no_rank(ctx.out()); !why.empty()) return refuse(std::move(why));
  const auto& op = *ctx.node.op->as<ops::Unary>();
  if (auto why = why_no_unary(op, ctx.in(0).dtype); !why.empty()) return refuse(std::move(why));
  if (auto why = why_no_element(ctx.out().dtype); !why.empty()) return refuse(std::move(why));
  return {elementwise("unary", ctx.node.op, [&op](ElementwisePlan& plan) { plan.unary(op); })};
}

DeviceTranslation translate_binary(const TranslateContext& ctx) {
  if (auto why = why_no_rank(ctx.out()); !why.empty()) return refuse(std::move(why));
  const auto fn = ctx.node.op->as<ops::Binary>()->fn;
  const DType a = ctx.in(0).dtype, b = ctx.in(1).dtype;
  if (a != b) return refuse("its inputs differ in dtype");
  if (auto why = why_no_binary(fn, a); !why.empty()) return refuse(std::move(why));
  return {elementwise("binary", ctx.node.op, [fn](ElementwisePlan& plan) { plan.binary(fn, 1); })};
}

DeviceTranslation translate_select(const TranslateContext& ctx) {
  if (auto why = why_no_rank(ctx.out()); !why.empty()) return refuse(std::move(why));
  if (auto why = why_no_element(ctx.out().dtype); !why.empty()) return refuse(std::move(why));
  return {elementwise("select", ctx.node.op, [](ElementwisePlan& plan) { plan.select(1, 2); })};
}

DeviceTranslation translate_cast(const TranslateContext& ctx) {
  if (auto why = why_no_rank(ctx.out()); !why.empty()) return refuse(std::move(why));
  for (const DType dtype : {ctx.in(0).dtype, ctx.out().dtype})
    if (auto why = why_no_element(dtype); !why.empty()) return refuse(std::move(why));
  return {elementwise("cast", ctx.node.op, [](ElementwisePlan&) {})};
}

// A float's link is one step of the kernel.
cpu::ChainLimits chain_limits() {
  return {tk::kElementwiseInputs, tk::kElementwiseSteps,
          [](const Operator& op, DType dtype, bool operand_first) {
            if (const auto* binary = op.as<ops::Binary>())
              return why_no_binary(binary->fn, dtype).empty() &&
                     binary_code(binary->fn, operand_first) >= 0;
            return why_no_unary(*op.as<ops::Unary>(), dtype).empty();
          }};
}

DeviceTranslation translate_chain(const TranslateContext& ctx) {
  if (auto why = why_no_rank(ctx.out()); !why.empty()) return refuse(std::move(why));
  struct Step {
    OperatorPtr op;
    int operand;
    bool operand_first;
  };
  std::vector<Step> steps;
  for (const cpu::Chain::Link& link : ctx.chain->links) {
    steps.push_back({ctx.graph.node(link.node).op, link.operand, link.operand_first});
  }
  return {elementwise("chain", nullptr, [steps](ElementwisePlan& plan) {
    for (const Step& s : steps) {
      if (const auto* binary = s.op->as<ops::Binary>())
        plan.binary(binary->fn, s.operand, s.operand_first);
      else
        plan.unary(*s.op->as<ops::Unary>());
    }
  })};
}

}  // namespace treadle::gpu
