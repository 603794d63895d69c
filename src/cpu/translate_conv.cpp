// Convolution in f32, channels last, constant weights.
#include "cpu/translators.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/shape.hpp"
#include "cpu/conv_desc.hpp"
#include "cpu/epilogue.hpp"
#include "kernels/conv/conv.hpp"
#include "ops/conv.hpp"

namespace treadle::cpu {
namespace {

using kernels::ConvDesc;

// Position of spatial axis 0 in the weights.
std::size_t first_kernel_axis(ops::WeightLayout l) {
  return l == ops::WeightLayout::HWIO ? 0 : l == ops::WeightLayout::OHWI ? 1 : 2;
}

ConvDesc describe(const ops::Conv& op, const Shape& x, const Shape& w) {
  const std::size_t spatial = x.size() - 2;
  const std::size_t k0 = first_kernel_axis(op.weight_layout);
  ConvDesc d;
  d.N = x[0];
  d.Cin = x.back();
  d.Cout = op.weight_layout == ops::WeightLayout::HWIO ? w.back() : w[0];
  d.group = op.group;
  for (std::size_t i = 0; i < spatial; ++i) {
    const AxisFields& f = kAxes[3 - spatial + i];
    const auto window =
        ops::window(x[i + 1], w[k0 + i], op.strides[i], op.dilations[i], op.padding.mode,
                    op.padding.before.empty() ? 0 : op.padding.before[i],
                    op.padding.after.empty() ? 0 : op.padding.after[i]);
    d.*f.in = x[i + 1];
    d.*f.kernel = w[k0 + i];
    d.*f.stride = op.strides[i];
    d.*f.dilation = op.dilations[i];
    d.*f.pad = window.before;
    d.*f.out = window.out;
  }
  return d;
}

kernels::WeightStrides strides_of(ops::WeightLayout l, const ConvDesc& d) {
  switch (l) {
    case ops::WeightLayout::HWIO:
      return kernels::hwio_strides(d);
    case ops::WeightLayout::OHWI:
      return kernels::ohwi_strides(d);
    default:
      return kernels::oihw_strides(d);
  }
}

// The smallest size of spatial axis i that the kernel fits without padding.
std::int64_t smallest(const ops::Conv& op, const Shape& w, std::size_t i) {
  const std::int64_t kernel = w[first_kernel_axis(op.weight_layout) + i];
  return checked_add(checked_mul(op.dilations[i], kernel - 1), 1);
}

// The input's sizes, guessed where they are not known: the kernel fits a guess.
Shape typical(const ops::Conv& op, const SymShape& shape, const Shape& w) {
  Shape s;
  for (const Dim& d : shape) s.push_back(guess(d));
  if (!shape[0].is_const()) s[0] = 1;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) {
    if (!shape[i + 1].is_const()) s[i + 1] = std::max(s[i + 1], smallest(op, w, i));
  }
  return s;
}

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
    const ConvDesc d = describe(op, typical(op, x.shape, w_shape_), w_shape_);
    weights_ = kernels::pack_conv_weights(d, static_cast<const float*>(w.data()),
                                          strides_of(op.weight_layout, d), options_);
    packed_ = kernels::make_conv(d, weights_, options_)->packed_bytes();
  }
  std::string_view name() const override { return "conv"; }
  bool consumes(std::size_t i) const override { return i == 1 || i == 2; }
  std::size_t packed_bytes() const override { return packed_; }
  std::unique_ptr<BoundKernel> bind(const BindContext& ctx) const override {
    auto options = options_;
    options.threads = ctx.threads;
    return std::make_unique<BoundConv>(
        kernels::make_conv(describe(op_, ctx.in[0]->shape, w_shape_), weights_, options), epilogue_,
        ctx.threads);
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
  if (!has_conv_kernel(ctx.graph, ctx.node)) return {};
  const auto& op = *ctx.node.op->as<ops::Conv>();
  const OwnedEpilogue epilogue(ctx.fused, ctx.constant(2));
  return {std::make_shared<ConvKernel>(op, ctx.in(0), *ctx.constant(1), epilogue, ctx.options)};
}

}  // namespace treadle::cpu
