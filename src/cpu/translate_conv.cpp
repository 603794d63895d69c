// Convolution in f32, channels last, constant weights.
#include "cpu/translators.hpp"

#include "cpu/conv_desc.hpp"
#include "cpu/epilogue.hpp"
#include "kernels/conv/conv.hpp"
#include "ops/conv.hpp"

namespace treadle::cpu {
namespace {

using kernels::ConvDesc;

class BoundConv final : public BoundKernel {
 public:
  BoundConv(std::unique_ptr<kernels::Conv> conv, const OwnedEpilogue& epilogue, int threads)
      : conv_(std::move(conv)), epilogue_(epilogue), workspace_(conv_->workspace_bytes(threads)) {}
  std::size_t workspace_bytes() const override { return workspace_; }
  void run(RunContext& ctx) override {
    const std::ptrdiff_t stride = ctx.out[0]->shape.back();
    const float* residual = epilogue_.residual ? ctx.in.back()->as<float>() : nullptr;
    conv_->run(ctx.in[0]->as<float>(), ctx.out[0]->as<float>(), stride,
               epilogue_.with(residual, stride), ctx.workspace, ctx.parallel);
  }
  std::string_view variant() const override { return conv_->name(); }

 private:
  std::unique_ptr<kernels::Conv> conv_;
  const OwnedEpilogue& epilogue_;
  std::size_t workspace_;
};

class ConvKernel final : public Kernel {
 public:
  ConvKernel(const ops::Conv& op, const Fact& x, const Tensor& w, OwnedEpilogue epilogue,
             const LowerOptions& options)
      : op_(op), w_shape_(w.shape()), epilogue_(std::move(epilogue)) {
    options_.exact = options.exact;
    options_.threads = options.threads;
    const ConvDesc d = conv_desc(op, typical_shape(op, x.shape, w_shape_), w_shape_);
    weights_ = kernels::pack_conv_weights(d, static_cast<const float*>(w.data()),
                                          weight_strides(op.weight_layout, d), options_);
    packed_ = kernels::make_conv(d, weights_, options_)->packed_bytes();
  }
  std::string_view name() const override { return "conv"; }
  bool consumes(std::size_t i) const override { return i == 1 || i == 2; }
  std::size_t packed_bytes() const override { return packed_; }
  std::unique_ptr<BoundKernel> bind(const BindContext& ctx) const override {
    auto options = options_;
    options.threads = ctx.threads;
    return std::make_unique<BoundConv>(
        kernels::make_conv(conv_desc(op_, ctx.in[0]->shape, w_shape_), weights_, options),
        epilogue_, ctx.threads);
  }

 private:
  ops::Conv op_;
  Shape w_shape_;
  OwnedEpilogue epilogue_;
  kernels::ConvOptions options_;
  kernels::SharedConvWeights weights_;
  std::size_t packed_ = 0;
};

}  // namespace

Translation translate_conv(const TranslateContext& ctx) {
  if (!has_conv_kernel(ctx.graph, ctx.node, kProductDTypes)) return {};
  const auto& op = *ctx.node.op->as<ops::Conv>();
  const OwnedEpilogue epilogue(ctx.fused, ctx.constant(2));
  return {std::make_shared<ConvKernel>(op, ctx.in(0), *ctx.constant(1), epilogue, ctx.options)};
}

}  // namespace treadle::cpu
