// com.microsoft MatMulNBits: weights of 2, 4 or 8 bits, several to a byte, in blocks along K.
#include "formats/onnx/ops/nn_nbits.hpp"

#include <bit>

#include "base/error.hpp"
#include "formats/onnx/ops/nn_common.hpp"

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

struct Blocks {
  std::int64_t K = 0, N = 0, size = 0, bits = 0;

  std::int64_t count() const { return (K + size - 1) / size; }
  std::int64_t bytes() const { return size / 8 * bits; }
};

Blocks blocks_of(NodeContext& ctx) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  Blocks b;
  b.K = ctx.int_attr("K", std::nullopt);
  b.N = ctx.int_attr("N", std::nullopt);
  b.size = ctx.int_attr("block_size", std::nullopt);
  b.bits = ctx.int_attr("bits", 4);
  check(b.K > 0 && b.K < kMost && b.N > 0 && b.N < kMost, ErrorKind::Parse,
        "K = {}, N = {}, expected sizes from 1 to 2^31 - 1", b.K, b.N);
  check(b.size >= 16 && b.size < kMost && std::has_single_bit(static_cast<std::uint64_t>(b.size)),
        ErrorKind::Parse, "block_size = {}, expected a power of two from 16 on", b.size);
  check(b.bits == 2 || b.bits == 4 || b.bits == 8, ErrorKind::Unsupported,
        "bits = {}, expected 2, 4 or 8", b.bits);
  check(ctx.int_attr("weight_prepacked", 0) == 0, ErrorKind::Unsupported,
        "weights in the layout of a CUDA kernel (weight_prepacked)");
  return b;
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

// f32, one a block, to be subtracted: [N, blocks, 1], or a scalar.
ValueId zero_points(NodeContext& ctx, const Blocks& b) {
  const ValueId given = nn::optional_input(ctx, 3);
  if (!given.present()) return nn::f32(ctx, static_cast<float>(1 << (b.bits - 1)));
  if (ctx.graph().fact(given).dtype != DType::U8) {
    return nn::cast(ctx, shaped(ctx, given, "zero_points", {b.N, b.count(), 1}), DType::F32);
  }
  const std::int64_t bytes = (b.count() * b.bits + 7) / 8;
  const ValueId all = nn::unpacked(ctx, shaped(ctx, given, "zero_points", {b.N, bytes}), b.bits);
  const ValueId used = nn::slice(ctx, all, 1, 0, b.count());
  return nn::cast(ctx, nn::unsqueeze(ctx, used, {2}), DType::F32);
}

}  // namespace

// Inputs A, B [N, blocks, bytes], scales [N, blocks], optional zero_points, g_idx, bias [N]: A
// times the transposed (B − zero_point) · scale. accuracy_level allows less than the dtype of A;
// nothing less is used.
std::vector<ValueId> import_matmul_n_bits(NodeContext& ctx) {
  const Blocks b = blocks_of(ctx);
  check(!nn::optional_input(ctx, 4).present(), ErrorKind::Unsupported,
        "MatMulNBits with g_idx (deprecated)");
  check(ctx.fact(1).dtype == DType::U8, ErrorKind::Unsupported, "B of dtype {}, expected u8",
        name_of(ctx.fact(1).dtype));
  const std::int64_t row = checked_mul(b.count(), b.bytes());
  const ValueId packed = shaped(ctx, ctx.in(1), "B", {b.N, row});
  const ValueId whole = nn::cast(ctx, nn::unpacked(ctx, packed, b.bits), DType::F32);
  const ValueId centred = nn::binary(
      ctx, BinaryFn::Sub, nn::reshape(ctx, whole, {b.N, b.count(), b.size}), zero_points(ctx, b));
  const ValueId scales =
      nn::cast(ctx, shaped(ctx, ctx.in(2), "scales", {b.N, b.count(), 1}), DType::F32);
  const ValueId flat =
      nn::reshape(ctx, nn::binary(ctx, BinaryFn::Mul, centred, scales), {b.N, b.count() * b.size});
  const ValueId weights = nn::transpose(ctx, nn::slice(ctx, flat, 1, 0, b.K), {1, 0});
  const ValueId y = ops::matmul(ctx.graph(), ctx.fresh_name(), ctx.in(0),
                                nn::cast(ctx, weights, ctx.fact(0).dtype));
  const ValueId bias = nn::optional_input(ctx, 5);
  return {bias.present() ? nn::binary(ctx, BinaryFn::Add, y, bias) : y};
}

}  // namespace treadle::onnx
