// BlockMatMul straight from its blocks.
#include "base/pages.hpp"
#include "cpu/epilogue.hpp"
#include "cpu/translators.hpp"
#include "kernels/block_product/block_product.hpp"
#include "ops/block_matmul.hpp"

namespace treadle::cpu {
namespace {

using kernels::BlockProductArgs;
using kernels::BlockShape;

BlockShape shape_of(const ops::BlockMatMul& op, std::int64_t N, bool zeros) {
  BlockShape s;
  s.N = N;
  s.K = op.K;
  s.block_size = op.block_size;
  s.bits = static_cast<int>(op.bits);
  s.zeros = zeros;
  return s;
}

void pack(const BlockShape& shape, const TensorView& numbers, const TensorView& scales,
          const TensorView* zeros, void* out, Parallel& parallel) {
  kernels::BlockSource from;
  from.numbers = numbers.as<const std::uint8_t>();
  from.scales = scales.data;
  from.scale_type = scales.dtype;
  if (zeros) from.zeros = zeros->as<const std::uint8_t>();
  kernels::pack_blocks(shape, from, out, parallel);
}

template <typename T>
void widen_all(const T* from, std::int64_t n, float* to) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
}
template <typename T>
void narrow_all(const float* from, std::int64_t n, T* to) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = T(from[i]);
}

// Bytes, so that what follows begins at a cache line.
std::size_t lines(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

class BoundBlockMatMul final : public BoundKernel {
 public:
  BoundBlockMatMul(const BlockShape& shape, DType type, std::int64_t rows,
                   std::shared_ptr<const Tensor> packed, const OwnedEpilogue& epilogue, int threads)
      : type_(type), packed_(std::move(packed)), epilogue_(epilogue) {
    args_.shape = shape;
    args_.rows = rows;
    if (type_ != DType::F32) {
      x_bytes_ = lines(static_cast<std::size_t>(checked_mul(checked_mul(rows, shape.K), 4)));
      y_bytes_ = lines(static_cast<std::size_t>(checked_mul(checked_mul(rows, shape.N), 4)));
    }
    if (!packed_) packed_bytes_ = lines(kernels::packed_block_bytes(shape));
    workspace_ = x_bytes_ + y_bytes_ + packed_bytes_ +
                 kernels::block_product_workspace_bytes(args_, threads);
  }
  std::size_t workspace_bytes() const override { return workspace_; }
  std::string_view variant() const override {
    return kernels::is_block_gemv(args_) ? "block_gemv" : "block_unpacked";
  }

  void run(RunContext& ctx) override {
    auto* scratch = static_cast<std::byte*>(ctx.workspace);
    BlockProductArgs a = args_;
    const TensorView &x = *ctx.in[0], &y = *ctx.out[0];
    a.x = x.as<const float>();
    a.y = y.as<float>();
    if (type_ != DType::F32) {
      auto* const wide = reinterpret_cast<float*>(scratch);
      a.x = wide;
      a.y = reinterpret_cast<float*>(scratch + x_bytes_);
      if (type_ == DType::F16) widen_all(x.as<const Half>(), x.elements(), wide);
      if (type_ == DType::BF16) widen_all(x.as<const BFloat16>(), x.elements(), wide);
      scratch += x_bytes_ + y_bytes_;
    }
    a.packed = packed_ ? packed_->data() : scratch;
    if (!packed_) {
      pack(a.shape, *ctx.in[1], *ctx.in[2], a.shape.zeros ? ctx.in[3] : nullptr, scratch,
           ctx.parallel);
      scratch += packed_bytes_;
    }
    a.epilogue =
        epilogue_.with(epilogue_.residual ? ctx.in.back()->as<const float>() : nullptr, a.shape.N);
    kernels::block_product(a, scratch, ctx.parallel);
    if (type_ == DType::F16) narrow_all(a.y, y.elements(), y.as<Half>());
    if (type_ == DType::BF16) narrow_all(a.y, y.elements(), y.as<BFloat16>());
  }

 private:
  DType type_;
  std::shared_ptr<const Tensor> packed_;
  OwnedEpilogue epilogue_;
  BlockProductArgs args_;
  std::size_t x_bytes_ = 0, y_bytes_ = 0, packed_bytes_ = 0, workspace_ = 0;
};

// Constant weights are packed once; others in each run.
class BlockMatMulKernel final : public Kernel {
 public:
  BlockMatMulKernel(const TranslateContext& ctx, const ops::BlockMatMul& op)
      : keep_(ctx.node.op), op_(op), zeros_(ctx.has(3)), epilogue_(ctx.fused, nullptr) {
    const Tensor *numbers = ctx.constant(1), *scales = ctx.constant(2), *zeros = ctx.constant(3);
    if (!numbers || !scales || (zeros_ && !zeros)) return;
    const BlockShape shape = shape_of(op_, numbers->shape()[0], zeros_);
    const std::size_t bytes = kernels::packed_block_bytes(shape);
    auto packed = std::make_shared<Tensor>(DType::U8, Shape{static_cast<std::int64_t>(bytes)});
    expect_writes(packed->mutable_data(), bytes);
    const TensorView zero_view = zeros ? zeros->view() : TensorView{};
    pack(shape, numbers->view(), scales->view(), zeros_ ? &zero_view : nullptr,
         packed->mutable_data(), serial());
    packed_ = std::move(packed);
  }
  std::string_view name() const override { return "block_matmul"; }
  bool consumes(std::size_t i) const override { return packed_ && i > 0 && i < (zeros_ ? 4 : 3); }
  std::size_t packed_bytes() const override { return packed_ ? packed_->bytes() : 0; }

  std::unique_ptr<BoundKernel> bind(const BindContext& ctx) const override {
    const Shape &x = ctx.in[0]->shape, &numbers = ctx.in[1]->shape;
    check(x.rank() > 0 && x.back() == op_.K, ErrorKind::Shape,
          "input 0 has shape {}, expected {} at the last axis", x.str(), op_.K);
    return std::make_unique<BoundBlockMatMul>(shape_of(op_, numbers[0], zeros_), ctx.in[0]->dtype,
                                              x.elements() / op_.K, packed_, epilogue_,
                                              ctx.threads);
  }

 private:
  OperatorPtr keep_;
  const ops::BlockMatMul& op_;
  bool zeros_;
  OwnedEpilogue epilogue_;
  std::shared_ptr<const Tensor> packed_;
};

}  // namespace

Translation translate_block_matmul(const TranslateContext& ctx) {
  // What a device would fuse and then refuses: epilogues are of f32.
  if (ctx.fused && ctx.in(0).dtype != DType::F32) return {};
  return {std::make_shared<BlockMatMulKernel>(ctx, *ctx.node.op->as<ops::BlockMatMul>())};
}

}  // namespace treadle::cpu
