// Contract as matrix products on a device.
#include <algorithm>
#include <span>

#include "base/error.hpp"
#include "cpu/contract_plan.hpp"
#include "cpu/epilogue.hpp"
#include "gpu/gemm_plan.hpp"
#include "gpu/translators.hpp"
#include "ops/contract.hpp"

namespace treadle::gpu {
namespace {

using cpu::ContractPlan;
using cpu::LoopDim;

// Launches for loops beyond the two that one launch covers.
constexpr std::int64_t kMostLaunches = 4096;

// A vector over the last axis, repeated where other axes were merged into the columns.
DeviceBufferPtr upload_repeated(Device& device, const std::vector<float>& row,
                                std::int64_t columns) {
  if (row.empty()) return nullptr;
  std::vector<float> all;
  while (all.size() < static_cast<std::size_t>(columns))
    all.insert(all.end(), row.begin(), row.end());
  return upload(device, *device.make_queue(), all.data(), all.size() * sizeof(float),
                "the bias of a matrix product");
}

class BoundContract final : public BoundKernel {
 public:
  BoundContract(Device& device, DType type, const ContractPlan& plan,
                const cpu::OwnedEpilogue& epilogue)
      : swapped_(plan.swapped),
        residual_(epilogue.residual),
        type_(type),
        bias_(upload_repeated(device, epilogue.bias, plan.n.size)),
        slope_(upload_repeated(device, epilogue.slope, plan.n.size)),
        gemm_(describe(plan), type, end(plan, epilogue)) {
    const std::size_t inner = std::min<std::size_t>(2, plan.loops.size());
    std::int64_t count = 1;
    const auto outer = std::span(plan.loops).first(plan.loops.size() - inner);
    for (const LoopDim& l : outer) count = checked_mul(count, l.size);
    check(count <= kMostLaunches, ErrorKind::Unsupported,
          "the contraction takes {} launches, at most {} are made", count, kMostLaunches);
    cpu::for_each_step(outer, [&](std::ptrdiff_t a, std::ptrdiff_t b, std::ptrdiff_t at_c) {
      offsets_.push_back({1, a, b, at_c});
    });
  }

  std::size_t workspace_bytes() const override { return gemm_.workspace_bytes(); }
  std::string_view variant() const override { return gemm_.name(); }

  void run(RunContext& ctx) override {
    for (const LoopDim& o : offsets_) {
      ProductAddresses at;
      at.left = shifted(*ctx.in[swapped_ ? 1 : 0], o.a);
      at.right = shifted(*ctx.in[swapped_ ? 0 : 1], o.b);
      at.y = shifted(*ctx.out[0], o.c);
      if (residual_) at.residual = shifted(*ctx.in.back(), o.c);
      if (bias_) at.bias = bias_->address();
      if (slope_) at.slope = slope_->address();
      gemm_.run(queue(ctx), at, workspace(ctx), ctx.label);
    }
  }

 private:
  DeviceAddress shifted(const TensorView& v, std::ptrdiff_t elements) const {
    return address(v) + static_cast<DeviceAddress>(elements) * size_of(type_);
  }

  static GemmDesc describe(const ContractPlan& p) {
    GemmDesc d;
    d.M = p.m.size;
    d.N = p.n.size;
    d.K = p.k.size;
    d.a_m = p.m.a;
    d.a_k = p.k.a;
    d.b_k = p.k.b;
    d.b_n = p.n.b;
    const std::size_t inner = std::min<std::size_t>(2, p.loops.size());
    for (std::size_t i = 0; i < inner; ++i) {
      const LoopDim& l = p.loops[p.loops.size() - inner + i];
      d.batch[i] = l.size;
      d.a_batch[i] = l.a;
      d.b_batch[i] = l.b;
      d.y_batch[i] = d.residual_batch[i] = l.c;
    }
    return d;
  }

  static EpilogueDesc end(const ContractPlan& p, const cpu::OwnedEpilogue& e) {
    EpilogueDesc d = epilogue_desc(e);
    // One row has no distance to the next.
    d.y_stride = d.residual_stride = p.m.size > 1 ? p.m.c : 0;
    return d;
  }

  bool swapped_, residual_;
  DType type_;
  DeviceBufferPtr bias_, slope_;
  GemmPlan gemm_;
  std::vector<LoopDim> offsets_;
};

}  // namespace

DeviceTranslation translate_contract(const TranslateContext& ctx) {
  const auto& op = *ctx.node.op->as<ops::Contract>();
  if (!takes(kContractDTypes, ctx.in(0).dtype))
    return refuse(fmt::format("the product is of {}, not of f32 or f16", name_of(ctx.in(0).dtype)));
  if (!cpu::is_gemm(op)) return refuse("the contraction is no matrix product");
  return {device_kernel(
      "gemm", [keep = ctx.node.op, &op, &device = ctx.device,
               epilogue = cpu::OwnedEpilogue(ctx.fused, nullptr)](const BindContext& b) {
        const auto plan = cpu::plan_contract(op, b.in[0]->shape, b.in[1]->shape, b.out[0]->shape);
        return std::make_unique<BoundContract>(device, b.in[0]->dtype, plan, epilogue);
      })};
}

}  // namespace treadle::gpu
