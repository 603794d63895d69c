// Transposed convolution in f32, channels last, constant weights.
#include "base/error.hpp"
#include "cpu/conv_desc.hpp"
#include "cpu/epilogue.hpp"
#include "cpu/translators.hpp"
#include "kernels/conv_transpose/conv_transpose.hpp"
#include "ops/conv_transpose.hpp"

namespace treadle::cpu {
namespace {

using Desc = kernels::ConvTransposeDesc;

bool hwio(const ops::ConvTranspose& op) {
  return op.weight_layout == ops::WeightLayout::HWIO;
}

// Channels, groups and the kernel: what the packed weights depend on.
Desc fixed_part(const ops::ConvTranspose& op, const Shape& w) {
  const std::size_t spatial = w.size() - 2, first = hwio(op) ? 0 : 2;
  Desc d;
  // HWIO is read as [k…, Cout/group, Cin], IOHW as [Cin, Cout/group, k…].
  d.Cin = hwio(op) ? w.back() : w[0];
  d.Cout = (hwio(op) ? w[spatial] : w[1]) * op.group;
  d.group = op.group;
  for (std::size_t i = 0; i < spatial; ++i) {
    const AxisFields& f = kAxes[3 - spatial + i];
    d.*f.kernel = w[first + i];
    d.*f.stride = op.strides[i];
    d.*f.dilation = op.dilations[i];
  }
  return d;
}

kernels::WeightStrides strides_of(const ops::ConvTranspose& op, const Desc& d) {
  if (!hwio(op)) return kernels::iohw_strides(d);
  kernels::WeightStrides s;
  s.i = 1;
  s.o = d.Cin;
  s.w = s.o * d.cout_per_group();
  s.h = s.w * d.kW;
  s.d = s.h * d.kH;
  return s;
}

class BoundConvTranspose final : public BoundKernel {
 public:
  BoundConvTranspose(const Desc& d, const kernels::SharedConvTransposeWeights& weights,
                     const OwnedEpilogue& epilogue)
      : conv_(d, weights), epilogue_(epilogue) {}
  std::string_view variant() const override { return conv_.name(); }
  void run(RunContext& ctx) override {
    const std::ptrdiff_t stride = ctx.out[0]->shape.back();
    const float* residual = epilogue_.residual ? ctx.in.back()->as<float>() : nullptr;
    conv_.run(ctx.in[0]->as<float>(), ctx.out[0]->as<float>(), stride,
              epilogue_.with(residual, stride), ctx.parallel);
  }

 private:
  kernels::ConvTranspose conv_;
  const OwnedEpilogue& epilogue_;
};

class ConvTransposeKernel final : public Kernel {
 public:
  ConvTransposeKernel(const ops::ConvTranspose& op, const Tensor& w, OwnedEpilogue epilogue)
      : op_(op), fixed_(fixed_part(op, w.shape())), epilogue_(std::move(epilogue)) {
    weights_ = kernels::pack_conv_transpose_weights(fixed_, static_cast<const float*>(w.data()),
                                                    strides_of(op, fixed_));
  }
  std::string_view name() const override { return "conv_transpose"; }
  bool consumes(std::size_t i) const override { return i == 1 || i == 2; }

  std::unique_ptr<BoundKernel> bind(const BindContext& ctx) const override {
    const Shape& x = ctx.in[0]->shape;
    const Shape& y = ctx.out[0]->shape;
    const std::size_t spatial = x.size() - 2;
    Desc d = fixed_;
    d.N = x[0];
    // The output's sizes may be expressions that have their values by now.
    ops::ConvTranspose op = op_;
    for (std::size_t i = 0; i < spatial; ++i) {
      const AxisFields& f = kAxes[3 - spatial + i];
      d.*f.in = x[i + 1];
      if (!op.output_spatial.empty()) op.output_spatial[i] = y[i + 1];
      d.*f.pad = op.axis_window(static_cast<int>(i), x[i + 1], d.*f.kernel).before.value();
      d.*f.out = y[i + 1];
    }
    return std::make_unique<BoundConvTranspose>(d, weights_, epilogue_);
  }

 private:
  ops::ConvTranspose op_;
  Desc fixed_;
  OwnedEpilogue epilogue_;
  kernels::SharedConvTransposeWeights weights_;
};

}  // namespace

Translation translate_conv_transpose(const TranslateContext& ctx) {
  if (!has_conv_kernel(ctx.graph, ctx.node, kProductDTypes)) return {};
  const auto& op = *ctx.node.op->as<ops::ConvTranspose>();
  const OwnedEpilogue epilogue(ctx.fused, ctx.constant(2));
  return {std::make_shared<ConvTransposeKernel>(op, *ctx.constant(1), epilogue)};
}

}  // namespace treadle::cpu
