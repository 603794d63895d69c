// Convolution on a device: channels last, constant weights.
#include <algorithm>

#include "base/error.hpp"
#include "cpu/conv_desc.hpp"
#include "cpu/epilogue.hpp"
#include "gpu/conv_plan.hpp"
#include "gpu/translators.hpp"
#include "ops/conv.hpp"

namespace treadle::gpu {
namespace {

DeviceBufferPtr upload_row(const TranslateContext& ctx, const std::vector<float>& row,
                           std::string_view what) {
  if (row.empty()) return nullptr;
  return upload(ctx.device, ctx.uploads, row.data(), row.size() * sizeof(float), what);
}

// The kernel that the plan would choose, or the first one that is not to be avoided.
ConvPlan choose(const kernels::ConvDesc& desc, DType type, const EpilogueDesc& epilogue,
                const std::vector<std::string>& avoid) {
  const auto avoided = [&](const std::string& name) {
    return std::any_of(avoid.begin(), avoid.end(),
                       [&](const std::string& a) { return name.starts_with(a); });
  };
  ConvPlan plan(desc, type, epilogue);
  if (!avoided(plan.name())) return plan;
  for (const std::string& variant : conv_variants(desc, type))
    if (!avoided(variant)) return ConvPlan(desc, type, epilogue, variant);
  fail(ErrorKind::Unsupported, "every convolution kernel is to be avoided");
}

DeviceBufferPtr upload_weights(Device& device, DeviceQueue& queue, const ConvPlan& plan,
                               const Tensor& w, const kernels::WeightStrides& strides,
                               std::string_view what) {
  const auto packed = std::make_shared<const Tensor>(
      w.dtype() == DType::F32 ? plan.pack(w.span<float>().data(), strides)
                              : plan.pack(w.to_f32().data(), strides));
  return upload_kept(device, queue, packed->data(), packed->bytes(), packed, what);
}

class ConvKernel final : public Kernel {
 public:
  ConvKernel(const TranslateContext& ctx, const ops::Conv& op, const Tensor& w)
      : op_(op),
        device_(ctx.device),
        type_(ctx.in(0).dtype),
        w_shape_(w.shape()),
        avoid_(ctx.options.avoid_kernels) {
    const cpu::OwnedEpilogue epilogue(ctx.fused, ctx.constant(2));
    epilogue_ = epilogue_desc(epilogue);
    if (ctx.join) {
      epilogue_.y_stride = ctx.join->columns;
      column_ = ctx.join->column;
    }
    const auto desc =
        cpu::conv_desc(op, cpu::typical_shape(op, ctx.in(0).shape, w_shape_), w_shape_);
    const ConvPlan plan = choose(desc, type_, epilogue_, avoid_);
    layout_ = plan.weight_layout();
    what_ = "weights of node '" + ctx.node.name + "'";
    weights_ = upload_weights(ctx.device, ctx.uploads, plan, w,
                              cpu::weight_strides(op.weight_layout, desc), what_);
    bias_ = upload_row(ctx, epilogue.bias, what_);
    slope_ = upload_row(ctx, epilogue.slope, what_);
    if (!is_const(ctx.in(0).shape)) source_ = ctx.in(1).value;
  }

  std::string_view name() const override { return "conv"; }
  bool consumes(std::size_t i) const override { return i == 1 || i == 2; }
  std::size_t packed_bytes() const override { return weights_->bytes(); }
  std::unique_ptr<BoundKernel> bind(const BindContext& ctx) const override;

 private:
  class Bound;
  ops::Conv op_;
  Device& device_;
  std::string what_;
  DType type_;
  Shape w_shape_;
  std::vector<std::string> avoid_;
  EpilogueDesc epilogue_;
  std::int64_t column_ = 0;  // the first one of the result in a wider output
  WeightLayout layout_ = WeightLayout::Tiles;
  DeviceBufferPtr weights_, bias_, slope_;
  // For sizes that want the weights in another layout than was guessed; null where sizes are known.
  std::shared_ptr<const Tensor> source_;
};

class ConvKernel::Bound final : public BoundKernel {
 public:
  Bound(const ConvKernel& kernel, ConvPlan plan, DeviceBufferPtr weights)
      : kernel_(kernel), plan_(std::move(plan)), weights_(std::move(weights)) {}
  std::size_t workspace_bytes() const override { return plan_.workspace_bytes(); }
  std::string_view variant() const override { return plan_.name(); }
  void run(RunContext& ctx) override {
    ProductAddresses at;
    at.left = address(*ctx.in[0]);
    at.right = weights_->address();
    if (kernel_.bias_) at.bias = kernel_.bias_->address();
    if (kernel_.slope_) at.slope = kernel_.slope_->address();
    if (kernel_.epilogue_.residual != ResidualAt::None) at.residual = address(*ctx.in.back());
    at.y = address(*ctx.out[0]) +
           static_cast<DeviceAddress>(kernel_.column_) * size_of(ctx.out[0]->dtype);
    plan_.run(queue(ctx), at, workspace(ctx), ctx.label);
  }

 private:
  const ConvKernel& kernel_;
  ConvPlan plan_;
  DeviceBufferPtr weights_;
};

std::unique_ptr<BoundKernel> ConvKernel::bind(const BindContext& ctx) const {
  const auto desc = cpu::conv_desc(op_, ctx.in[0]->shape, w_shape_);
  ConvPlan plan = choose(desc, type_, epilogue_, avoid_);
  DeviceBufferPtr weights = weights_;
  if (plan.weight_layout() != layout_) {
    check(source_ != nullptr, ErrorKind::Internal, "{} are packed for other sizes", what_);
    weights = upload_weights(device_, *device_.make_queue(), plan, *source_,
                             cpu::weight_strides(op_.weight_layout, desc), what_);
  }
  return std::make_unique<Bound>(*this, std::move(plan), std::move(weights));
}

}  // namespace

DeviceTranslation translate_conv(const TranslateContext& ctx) {
  const auto& op = *ctx.node.op->as<ops::Conv>();
  if (!takes(kConvDTypes, ctx.in(0).dtype))
    return refuse(
        fmt::format("the convolution is of {}, not of f32, f16 or bf16", name_of(ctx.in(0).dtype)));
  if (op.layout != ops::Layout::ChannelsLast) return refuse("the convolution is not channels-last");
  if (!cpu::has_conv_kernel(ctx.graph, ctx.node, kConvDTypes))
    return refuse("its weights or bias are not constant, or it has no one to three dimensions");
  return {std::make_shared<ConvKernel>(ctx, op, *ctx.constant(1)), -1, {}};
}

}  // namespace treadle::gpu
