#include "ops/block_matmul.hpp"

#include <bit>

#include "ops/checks.hpp"
#include "ops/elements.hpp"
#include "ops/recheck.hpp"

namespace treadle::ops {

void BlockMatMul::visit(ParamVisitor& v) const {
  v.param("K", K);
  v.param("block_size", block_size);
  v.param("bits", bits);
}

namespace {

constexpr std::int64_t kMostSize = std::int64_t{1} << 31;

void need_shape(const Fact& f, std::size_t i, const SymShape& expected) {
  bool fits = f.rank() == static_cast<int>(expected.size());
  for (std::size_t k = 0; fits && k < expected.size(); ++k) {
    fits = !f.shape[k].is_const() || !expected[k].is_const() || f.shape[k] == expected[k];
  }
  check(fits, ErrorKind::Shape, "input {} has shape {}, expected {}", i, str(f.shape),
        str(expected));
}

// Value i of numbers of `bits` bits.
int number_at(const std::uint8_t* bytes, std::int64_t i, std::int64_t bits) {
  const std::int64_t at = i * bits;
  return bytes[at / 8] >> (at % 8) & ((1 << bits) - 1);
}

// Column n of the dequantised weights.
template <typename S>
void dequantise(const BlockMatMul& op, EvalContext& ctx, std::int64_t n, std::vector<float>& out) {
  const std::int64_t blocks = op.blocks();
  const auto* weights = ctx.in(1).as<std::uint8_t>() + n * blocks * op.block_bytes();
  const S* scales = ctx.in(2).as<const S>() + n * blocks;
  const TensorView* zeros = ctx.inputs() > 3 ? ctx.input(3) : nullptr;
  for (std::int64_t k = 0; k < op.K; ++k) {
    const std::int64_t block = k / op.block_size;
    const int zero =
        zeros ? number_at(zeros->as<std::uint8_t>() + n * op.zero_point_bytes(), block, op.bits)
              : 1 << (op.bits - 1);
    out[static_cast<std::size_t>(k)] = static_cast<float>(number_at(weights, k, op.bits) - zero) *
                                       static_cast<float>(widen(scales[block]));
  }
}

template <typename T, typename S>
void run(const BlockMatMul& op, EvalContext& ctx) {
  const std::int64_t N = ctx.in(1).shape[0], rows = ctx.in(0).elements() / op.K;
  const T* x = ctx.in(0).as<const T>();
  T* y = ctx.output(0).as<T>();
  std::vector<float> column(static_cast<std::size_t>(op.K));
  for (std::int64_t n = 0; n < N; ++n) {
    dequantise<S>(op, ctx, n, column);
    for (std::int64_t m = 0; m < rows; ++m) {
      double sum = 0;
      for (std::int64_t k = 0; k < op.K; ++k) {
        sum += static_cast<double>(widen(x[m * op.K + k])) *
               static_cast<double>(column[static_cast<std::size_t>(k)]);
      }
      y[m * N + n] = convert<T>(sum);
    }
  }
}

template <typename F>
void with_float(DType dtype, F&& f) {
  dispatch(dtype, [&]<typename T>(T) {
    if constexpr (std::is_same_v<compute_t<T>, float>) f(T{});
  });
}

}  // namespace

std::vector<Fact> BlockMatMul::infer(InputFacts in) const {
  check(K > 0 && K < kMostSize, ErrorKind::Shape, "K is {}, expected 1 to 2^31 - 1", K);
  check(block_size >= 16 && block_size < kMostSize &&
            std::has_single_bit(static_cast<std::uint64_t>(block_size)),
        ErrorKind::Shape, "block_size is {}, expected a power of two from 16 to 2^30", block_size);
  check(bits == 2 || bits == 4 || bits == 8, ErrorKind::Shape, "bits is {}, expected 2, 4 or 8",
        bits);
  check(in.size() == 3 || in.size() == 4, ErrorKind::Shape, "{} inputs, expected 3 or 4",
        in.size());
  const Fact &x = need(in, 0), &weights = need(in, 1), &scales = need(in, 2);
  check(x.dtype == DType::F32 || x.dtype == DType::F16 || x.dtype == DType::BF16, ErrorKind::Type,
        "input 0 has dtype {}, expected f16, bf16 or f32", name_of(x.dtype));
  need_dtype(weights, DType::U8, 1);
  check(scales.dtype == x.dtype || scales.dtype == DType::F32, ErrorKind::Type,
        "input 2 has dtype {}, expected f32 or {} as input 0", name_of(scales.dtype),
        name_of(x.dtype));
  check(x.rank() >= 1 && (!x.shape.back().is_const() || x.shape.back().is(K)), ErrorKind::Shape,
        "input 0 has shape {}, expected {} (K) at its last axis", str(x.shape), K);
  const SymShape& w = weights.shape;
  need_shape(weights, 1, {w.empty() ? Dim(1) : w[0], Dim(blocks()), Dim(block_bytes())});
  need_shape(scales, 2, {w[0], Dim(blocks())});
  if (in.size() > 3 && maybe(in, 3)) {
    need_dtype(*in[3], DType::U8, 3);
    need_shape(*in[3], 3, {w[0], Dim(zero_point_bytes())});
  }
  SymShape shape = x.shape;
  shape.back() = w[0];
  return {Fact::tensor(x.dtype, std::move(shape))};
}

void BlockMatMul::eval(EvalContext& ctx) const {
  recheck(*this, ctx);
  with_float(ctx.in(0).dtype, [&]<typename T>(T) {
    with_float(ctx.in(2).dtype, [&]<typename S>(S) { run<T, S>(*this, ctx); });
  });
}

Cost BlockMatMul::cost(InputFacts, std::span<const Fact> out) const {
  return {elements(out[0].shape) * (2 * K)};
}

}  // namespace treadle::ops
