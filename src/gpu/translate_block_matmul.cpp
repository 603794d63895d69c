// BlockMatMul on a device.
#include "base/error.hpp"
#include "cpu/epilogue.hpp"
#include "gpu/block_plan.hpp"
#include "gpu/translators.hpp"
#include "ops/block_matmul.hpp"

namespace treadle::gpu {
namespace {

DeviceBufferPtr upload_row(Device& device, const std::vector<float>& row) {
  if (row.empty()) return nullptr;
  return upload(device, *device.make_queue(), row.data(), row.size() * sizeof(float),
                "the bias of a product with weights in blocks");
}

// What all sizes share, on the device.
struct Weights {
  BlockDesc desc;  // but for M
  DeviceBufferPtr packed, bias, slope;
  EpilogueDesc epilogue;
};

class BoundBlockMatMul final : public BoundKernel {
 public:
  BoundBlockMatMul(std::shared_ptr<const Weights> weights, DType type, std::int64_t rows)
      : weights_(std::move(weights)), plan_(described(*weights_, rows), type, weights_->epilogue) {}

  std::size_t workspace_bytes() const override { return plan_.workspace_bytes(); }
  std::string_view variant() const override { return plan_.name(); }

  void run(RunContext& ctx) override {
    ProductAddresses at;
    at.left = address(*ctx.in[0]);
    at.right = weights_->packed->address();
    if (weights_->bias) at.bias = weights_->bias->address();
    if (weights_->slope) at.slope = weights_->slope->address();
    if (weights_->epilogue.residual != ResidualAt::None) at.residual = address(*ctx.in.back());
    at.y = address(*ctx.out[0]);
    plan_.run(queue(ctx), at, workspace(ctx), ctx.label);
  }

 private:
  static BlockDesc described(const Weights& w, std::int64_t rows) {
    BlockDesc d = w.desc;
    d.M = rows;
    return d;
  }

  std::shared_ptr<const Weights> weights_;
  BlockPlan plan_;
};

}  // namespace

DeviceTranslation translate_block_matmul(const TranslateContext& ctx) {
  const auto& op = *ctx.node.op->as<ops::BlockMatMul>();
  const DType type = ctx.in(0).dtype;
  if (!takes(kContractDTypes, type))
    return refuse(fmt::format("the product is of {}, not of f32 or f16", name_of(type)));
  if (op.bits == 2) return refuse("the weights are of 2 bits, not of 4 or 8");
  const Tensor *numbers = ctx.constant(1), *scales = ctx.constant(2), *zeros = ctx.constant(3);
  if (!numbers || !scales || (ctx.has(3) && !zeros)) return refuse("the weights are not constant");
  auto weights = std::make_shared<Weights>();
  BlockDesc& d = weights->desc;
  d.N = numbers->shape()[0];
  d.K = op.K;
  d.block_size = op.block_size;
  d.bits = static_cast<int>(op.bits);
  d.zeros = zeros != nullptr;
  const auto packed = pack_blocks(d, numbers->span<std::uint8_t>().data(), scales->to_f32(),
                                  zeros ? zeros->span<std::uint8_t>().data() : nullptr);
  weights->packed = upload(ctx.device, ctx.uploads, packed.data(), packed.size(),
                           "the weights of " + std::string(ctx.node.name));
  const cpu::OwnedEpilogue epilogue(ctx.fused, nullptr);
  weights->epilogue = epilogue_desc(epilogue);
  weights->bias = upload_row(ctx.device, epilogue.bias);
  weights->slope = upload_row(ctx.device, epilogue.slope);
  std::vector<std::size_t> consumed{1, 2};
  if (zeros) consumed.push_back(3);
  return {device_kernel(
      "block_matmul",
      [weights, K = op.K](const BindContext& b) -> std::unique_ptr<BoundKernel> {
        const Shape& x = b.in[0]->shape;
        check(x.rank() > 0 && x.back() == K, ErrorKind::Shape,
              "input 0 has shape {}, expected {} at the last axis", x.str(), K);
        return std::make_unique<BoundBlockMatMul>(weights, b.in[0]->dtype, x.elements() / K);
      },
      std::move(consumed), packed.size())};
}

}  // namespace treadle::gpu
