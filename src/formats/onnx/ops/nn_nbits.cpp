// com.microsoft MatMulNBits: weights of 2, 4 or 8 bits, several to a byte, in blocks along K.
#include "formats/onnx/ops/nn_nbits.hpp"

#include <bit>

#include "base/error.hpp"
#include "formats/onnx/ops/nn_common.hpp"
#include "ops/block_matmul.hpp"

namespace treadle::onnx {

using ops::BinaryFn;

ValueId nn::unpacked(NodeContext& ctx, ValueId bytes, std::int64_t bits) {
  if (bits == 8) return bytes;
  SymShape shape = ctx.graph().fact(bytes).shape;
  const auto axis = static_cast<std::int64_t>(shape.size());
  const auto like = [&](std::int64_t v) {
    return ops::scalar_like(ctx.graph(), ctx.fresh_name(), static_cast<double>(v), bytes);
  };
  std::vector<ValueId> parts;
  for (std::int64_t at = 0; at < 8; at += bits) {
    const ValueId part = nn::binary(ctx, BinaryFn::ShiftRight, bytes, like(at));
    parts.push_back(nn::unsqueeze(
        ctx, nn::binary(ctx, BinaryFn::BitAnd, part, like((std::int64_t{1} << bits) - 1)), {axis}));
  }
  shape.back() = shape.back() * Dim(8 / bits);
  return nn::reshape(ctx, nn::concat(ctx, std::move(parts), axis), std::move(shape));
}

namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 31;

// The operator that the attributes ask for; N comes with the weights.
ops::BlockMatMul product_of(NodeContext& ctx) {
  const std::int64_t K = ctx.int_attr("K", std::nullopt);
  const std::int64_t size = ctx.int_attr("block_size", std::nullopt);
  const std::int64_t bits = ctx.int_attr("bits", 4);
  check(K > 0 && K < kMost, ErrorKind::Parse, "attribute 'K' is {}, expected 1 to 2^31 - 1", K);
  check(size >= 16 && size < kMost && std::has_single_bit(static_cast<std::uint64_t>(size)),
        ErrorKind::Parse, "attribute 'block_size' is {}, expected a power of two from 16 to 2^30",
        size);
  check(bits == 2 || bits == 4 || bits == 8, ErrorKind::Parse,
        "attribute 'bits' is {}, expected 2, 4 or 8", bits);
  check(ctx.int_attr("weight_prepacked", 0) == 0, ErrorKind::Unsupported,
        "weights in the layout of a CUDA kernel (weight_prepacked)");
  return {K, size, bits};
}

std::int64_t columns_of(NodeContext& ctx) {
  const std::int64_t N = ctx.int_attr("N", std::nullopt);
  check(N > 0 && N < kMost, ErrorKind::Parse, "attribute 'N' is {}, expected 1 to 2^31 - 1", N);
  return N;
}

// v under `shape`, from which it may differ in its axes but not in its count of elements.
ValueId shaped(NodeContext& ctx, ValueId v, std::string_view what, const Shape& shape) {
  const SymShape& is = ctx.graph().fact(v).shape;
  check(is_const(is), ErrorKind::Unsupported, "{} has shape {}, expected sizes known at import",
        what, str(is));
  check(concrete(is).elements() == shape.elements(), ErrorKind::Shape,
        "{} has shape {}, expected {}", what, str(is), shape.str());
  return nn::reshape(ctx, v, SymShape(shape.begin(), shape.end()));
}

// Zero points that are floats: the weights are dequantised, [K, N] of A's dtype, and folded where
// they are constants.
ValueId dequantised(NodeContext& ctx, const ops::BlockMatMul& op, std::int64_t N, ValueId weights,
                    ValueId scales, ValueId zero_points) {
  const ValueId bytes = nn::reshape(ctx, weights, {N, checked_mul(op.blocks(), op.block_bytes())});
  const ValueId whole =
      nn::reshape(ctx, nn::cast(ctx, nn::unpacked(ctx, bytes, op.bits), DType::F32),
                  {N, op.blocks(), op.block_size});
  const auto a_block = [&](ValueId v) {
    return nn::unsqueeze(ctx, nn::cast(ctx, v, DType::F32), {2});
  };
  const ValueId centred = nn::binary(ctx, BinaryFn::Sub, whole, a_block(zero_points));
  const ValueId flat = nn::reshape(ctx, nn::binary(ctx, BinaryFn::Mul, centred, a_block(scales)),
                                   {N, checked_mul(op.blocks(), op.block_size)});
  return nn::cast(ctx, nn::transpose(ctx, nn::slice(ctx, flat, 1, 0, op.K), {1, 0}),
                  ctx.fact(0).dtype);
}

}  // namespace

// Inputs A, B [N, blocks, bytes], scales [N, blocks], optional zero_points, g_idx, bias [N]: A
// times the transposed (B − zero_point) · scale. accuracy_level allows less than the dtype of A;
// nothing less is used.
std::vector<ValueId> import_matmul_n_bits(NodeContext& ctx) {
  const ops::BlockMatMul op = product_of(ctx);
  const std::int64_t N = columns_of(ctx);
  check(!nn::optional_input(ctx, 4).present(), ErrorKind::Unsupported,
        "MatMulNBits with g_idx (deprecated)");
  check(ctx.fact(1).dtype == DType::U8, ErrorKind::Unsupported,
        "input 1 'B' has dtype {}, expected u8", name_of(ctx.fact(1).dtype));
  const ValueId weights = shaped(ctx, ctx.in(1), "input 1 'B'", {N, op.blocks(), op.block_bytes()});
  const ValueId scales = shaped(ctx, ctx.in(2), "input 2 'scales'", {N, op.blocks()});
  const ValueId zeros = nn::optional_input(ctx, 3), bias = nn::optional_input(ctx, 5);
  ValueId y;
  if (zeros.present() && ctx.graph().fact(zeros).dtype != DType::U8) {
    const ValueId floats = shaped(ctx, zeros, "input 3 'zero_points'", {N, op.blocks()});
    y = ops::matmul(ctx.graph(), ctx.fresh_name(), ctx.in(0),
                    dequantised(ctx, op, N, weights, scales, floats));
  } else {
    std::vector<ValueId> in{ctx.in(0), weights, scales};
    if (zeros.present()) {
      in.push_back(shaped(ctx, zeros, "input 3 'zero_points'", {N, op.zero_point_bytes()}));
    }
    y = ctx.add1(make_op<ops::BlockMatMul>(op), in);
  }
  return {bias.present() ? nn::binary(ctx, BinaryFn::Add, y, bias) : y};
}

}  // namespace treadle::onnx
