// Conv (channels last) and Contract of 8-bit values by constant weights, requantised on the way
// out.
#include <cstring>

#include "cpu/contract_plan.hpp"
#include "cpu/conv_desc.hpp"
#include "cpu/integer_products.hpp"
#include "cpu/translators.hpp"
#include "kernels/product_u8/conv_u8.hpp"
#include "kernels/product_u8/product_u8.hpp"
#include "ops/contract.hpp"
#include "ops/conv.hpp"

namespace treadle::cpu {
namespace {

using kernels::PackedU8;
using kernels::StoreU8;

// What packed weights need to become a step: where sums start, how they are requantised.
class Requantised {
 public:
  Requantised(const IntegerProduct& p, DType x, kernels::SharedPackedU8 weights)
      : weights_(std::move(weights)),
        bias_(p.bias),
        zero_(p.x_zero),
        shift_(x == DType::I8 ? 128 : 0),
        runtime_zero_(p.x_zero_value.present()),
        flip_(x == DType::I8 ? 0x80808080u : 0) {
    const PackedU8& w = *weights_;
    const auto padded = static_cast<std::size_t>(w.groups * w.padded);
    start_.resize(padded);
    kernels::start_u8(w, zero_ + shift_, bias(), start_.data());
    if (!p.factor.empty()) {
      factor_.resize(padded, 0.0f);
      for (std::int64_t i = 0; i < w.groups * w.columns; ++i) {
        factor_[static_cast<std::size_t>(i / w.columns * w.padded + i % w.columns)] =
            p.factor[static_cast<std::size_t>(i)];
      }
    }
    finish_.store = p.out == DType::I32   ? StoreU8::I32
                    : p.out == DType::F32 ? StoreU8::F32
                                          : StoreU8::Byte;
    finish_.low = p.low;
    finish_.high = p.high;
    finish_.zero = p.zero;
  }

  const PackedU8& weights() const { return *weights_; }
  std::uint32_t flip() const { return flip_; }
  std::ptrdiff_t out_bytes() const { return finish_.store == StoreU8::Byte ? 1 : 4; }
  std::size_t packed_bytes() const { return weights_->data.size(); }

  // Bytes at the start of the workspace that finish() writes, a multiple of 64.
  std::size_t workspace_bytes() const {
    return runtime_zero_ ? (start_.size() * sizeof(std::int32_t) + 63) / 64 * 64 : 0;
  }
  // The zero point of this run.
  std::int32_t zero(const RunContext& c) const {
    return runtime_zero_ ? c.in.back()->as<const std::int32_t>()[0] : zero_;
  }
  kernels::FinishU8 finish(const RunContext& c) const {
    kernels::FinishU8 f = finish_;
    f.start = start_.data();
    f.factor = factor_.empty() ? nullptr : factor_.data();
    if (runtime_zero_) {
      auto* const start = static_cast<std::int32_t*>(c.workspace);
      kernels::start_u8(*weights_, zero(c) + shift_, bias(), start);
      f.start = start;
    }
    return f;
  }

 private:
  const std::int32_t* bias() const { return bias_.empty() ? nullptr : bias_.data(); }

  kernels::SharedPackedU8 weights_;
  std::vector<std::int32_t> bias_, start_;
  std::vector<float> factor_;
  kernels::FinishU8 finish_;
  std::int32_t zero_, shift_;
  bool runtime_zero_;
  std::uint32_t flip_;
};

// Consumes the weights.
class ProductKernel : public Kernel {
 public:
  ProductKernel(std::size_t w_input, Requantised product)
      : w_input_(w_input), product_(std::move(product)) {}
  std::size_t packed_bytes() const override { return product_.packed_bytes(); }
  bool consumes(std::size_t i) const override { return i == w_input_; }

 protected:
  const std::size_t w_input_;
  const Requantised product_;
};

class ConvU8Kernel final : public ProductKernel {
 public:
  ConvU8Kernel(const ops::Conv& op, const Shape& w, Requantised product)
      : ProductKernel(1, std::move(product)), op_(op), w_shape_(w) {}
  std::string_view name() const override { return "conv_u8"; }
  std::unique_ptr<BoundKernel> bind(const BindContext& b) const override {
    const kernels::ConvDesc d = conv_desc(op_, b.in[0]->shape, w_shape_);
    kernels::check_conv(d);
    const std::size_t own = product_.workspace_bytes();
    return bound(
        [d, own, &product = product_](RunContext& c) {
          kernels::ConvU8 args;
          args.x = static_cast<const std::uint8_t*>(c.in[0]->data);
          args.outside = static_cast<std::uint8_t>(product.zero(c));
          args.flip = product.flip();
          args.weights = &product.weights();
          args.y = c.out[0]->data;
          args.finish = product.finish(c);
          args.workspace = static_cast<char*>(c.workspace) + own;
          kernels::conv_u8(d, args, c.parallel);
        },
        own + kernels::conv_u8_workspace_bytes(d), kernels::conv_u8_variant(d));
  }

 private:
  const ops::Conv op_;
  const Shape w_shape_;
};

class ContractU8Kernel final : public ProductKernel {
 public:
  ContractU8Kernel(const ops::Contract& op, std::size_t w_input, Requantised product)
      : ProductKernel(w_input, std::move(product)), op_(op) {}
  std::string_view name() const override { return "contract_u8"; }
  std::unique_ptr<BoundKernel> bind(const BindContext& b) const override {
    const std::size_t x = 1 - w_input_;
    auto plan = plan_contract(op_, b.in[0]->shape, b.in[1]->shape, b.out[0]->shape);
    return bound(
        [plan = std::move(plan), x, &product = product_](RunContext& c) {
          kernels::GemmU8 g;
          g.m = plan.m.size;
          g.lda = plan.m.a;
          g.flip = product.flip();
          g.weights = &product.weights();
          g.ldc = plan.m.c;
          g.finish = product.finish(c);
          const auto* const a = static_cast<const std::uint8_t*>(c.in[x]->data);
          auto* const to = static_cast<char*>(c.out[0]->data);
          for_each_step(plan.loops, [&](std::ptrdiff_t in_a, std::ptrdiff_t, std::ptrdiff_t at) {
            g.a = a + in_a;
            g.c = to + at * product.out_bytes();
            kernels::gemm_u8(g, c.parallel);
          });
        },
        product_.workspace_bytes(), product_.weights().kernels->name);
  }

 private:
  const ops::Contract op_;
};

}  // namespace

Translation translate_conv_u8(const TranslateContext& ctx) {
  if (!ctx.fused || !ctx.fused->integer) return {};
  const IntegerProduct& p = *ctx.fused->integer;
  const auto& op = *ctx.node.op->as<ops::Conv>();
  const Tensor& w = *ctx.constant(1);
  const kernels::ConvDesc d =
      conv_desc(op, typical_shape(op, ctx.in(0).shape, w.shape()), w.shape());
  kernels::check_conv(d);
  auto packed = kernels::pack_conv_u8(kernels::kernels_u8(), d, w.span<std::int32_t>().data(),
                                      weight_strides(op.weight_layout, d));
  Requantised product(p, ctx.graph.fact(p.x).dtype, std::move(packed));
  return {std::make_shared<ConvU8Kernel>(op, w.shape(), std::move(product))};
}

Translation translate_contract_u8(const TranslateContext& ctx) {
  if (!ctx.fused || !ctx.fused->integer) return {};
  const IntegerProduct& p = *ctx.fused->integer;
  const auto& op = *ctx.node.op->as<ops::Contract>();
  const Tensor& w = *ctx.constant(p.w_input);
  const bool by_columns = op.inputs[p.w_input][0] == op.output.back();
  kernels::WeightsU8 weights;
  weights.b = w.span<std::int32_t>().data();
  weights.columns = w.shape()[by_columns ? 0 : 1];
  weights.k = w.shape()[by_columns ? 1 : 0];
  weights.row_stride = by_columns ? 1 : weights.columns;
  weights.column_stride = by_columns ? weights.k : 1;
  Requantised product(p, ctx.graph.fact(p.x).dtype,
                      kernels::pack_u8(kernels::kernels_u8(), weights));
  return {std::make_shared<ContractU8Kernel>(op, p.w_input, std::move(product))};
}

}  // namespace treadle::cpu
