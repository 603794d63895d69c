#include <cmath>
#include <limits>
#include <random>

#include "ops/block_matmul.hpp"
#include "ops_nn_util.hpp"

namespace treadle {
namespace {

using namespace test;

Tensor some_bytes(std::mt19937& random, const Shape& shape) {
  Tensor t(DType::U8, shape);
  for (std::uint8_t& v : t.mutable_span<std::uint8_t>()) v = static_cast<std::uint8_t>(random());
  return t;
}

// One row, two columns, two blocks of 16: small enough to be written out.
TEST(BlockMatMul, FourBitsByHand) {
  const ops::BlockMatMul op(17, 16, 4);
  const Tensor x = filled({1, 17}, 1);
  // Each byte of a column is the same: low and high number.
  Tensor w = Tensor::zeros(DType::U8, {2, 2, 8});
  auto bytes = w.mutable_span<std::uint8_t>();
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = 0x29;       // column 0, block 0: 9 and 2
    bytes[8 + i] = 0xfc;   // block 1: only the first number, 12, is read
    bytes[16 + i] = 0x80;  // column 1, block 0: 0 and 8
    bytes[24 + i] = 0xff;
  }
  const Tensor scales = Tensor::of<float>({2, 2}, {0.5F, 2, 10, 3});
  // Σ (9 − 8 + 2 − 8) · 8 · 0.5 + (12 − 8) · 2 = −12; (0 − 8 + 8 − 8) · 8 · 10 + 7 · 3 = −619.
  expect_near(evaluate(op, {x, w, scales})[0], {-12, -619});
  const Tensor zeros = Tensor::of<std::uint8_t>({2, 1}, {0x21, 0xf0});
  // (9 − 1 + 2 − 1) · 8 · 0.5 + (12 − 2) · 2 = 56; (0 + 8) · 8 · 10 + (15 − 15) · 3 = 640.
  expect_near(evaluate(op, {x, w, scales, zeros})[0], {56, 640});
}

TEST(BlockMatMul, TwoAndEightBits) {
  const Tensor x = counting({2, 16}, 0);  // 0 … 15 and 16 … 31
  Tensor two = Tensor::zeros(DType::U8, {1, 1, 4}), eight = Tensor::zeros(DType::U8, {1, 1, 16});
  two.mutable_span<std::uint8_t>()[0] = 0xe4;     // 0, 1, 2, 3; the rest 0
  eight.mutable_span<std::uint8_t>()[15] = 0xff;  // 255; the rest 0
  const Tensor scales = filled({1, 1}, 1), zero = Tensor::of<std::uint8_t>({1, 1}, {0});
  expect_near(evaluate(ops::BlockMatMul(16, 16, 2), {x, two, scales, zero})[0],
              {1 + 4 + 9, 17 + 36 + 57});
  expect_near(evaluate(ops::BlockMatMul(16, 16, 8), {x, eight, scales, zero})[0],
              {255 * 15, 255 * 31});
  // Without zero points: 2^(bits − 1) everywhere; Σ x is 120 and 376.
  expect_near(evaluate(ops::BlockMatMul(16, 16, 2), {x, two, scales})[0],
              {14 - 2 * 120, 110 - 2 * 376});
  expect_near(evaluate(ops::BlockMatMul(16, 16, 8), {x, eight, scales})[0],
              {255 * 15 - 128 * 120, 255 * 31 - 128 * 376});
}

// A weight of zero times infinity is NaN; other columns are infinite.
TEST(BlockMatMul, NanAndInfinity) {
  const float inf = std::numeric_limits<float>::infinity();
  Tensor x = filled({3, 16}, 1);
  x.mutable_span<float>()[0] = inf;
  x.mutable_span<float>()[16] = std::nanf("");
  Tensor w = Tensor::zeros(DType::U8, {2, 1, 8});
  w.mutable_span<std::uint8_t>()[0] = 0x08;  // the first number of column 0 is the zero point
  const std::vector<double> y =
      values(evaluate(ops::BlockMatMul(16, 16, 4), {x, w, filled({2, 1}, 1)})[0]);
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], -static_cast<double>(inf));
  EXPECT_TRUE(std::isnan(y[2]) && std::isnan(y[3]));
  EXPECT_EQ(y[4], -120);
}

TEST(BlockMatMul, HalvesAndBatches) {
  std::mt19937 random(1);
  const Tensor w = some_bytes(random, {3, 2, 16}), scales = filled({3, 2}, 0.25F);
  Tensor x(DType::F16, {2, 1, 40});
  for (Half& v : x.mutable_span<Half>()) v = Half(static_cast<float>(random() % 9) - 4);
  Tensor wide(DType::F32, {2, 1, 40}), halves(DType::F16, {3, 2});
  for (std::size_t i = 0; i < 80; ++i)
    wide.mutable_span<float>()[i] = static_cast<float>(x.span<Half>()[i]);
  for (Half& v : halves.mutable_span<Half>()) v = Half(0.25F);
  const ops::BlockMatMul op(40, 32, 4);
  const Tensor want = evaluate(op, {wide, w, scales})[0];
  EXPECT_EQ(want.shape(), (Shape{2, 1, 3}));
  for (const Tensor& s : {scales, halves}) {
    const Tensor got = evaluate(op, {x, w, s})[0];
    EXPECT_EQ(got.dtype(), DType::F16);
    expect_near(got, values(want), 1e-3);
  }
  EXPECT_EQ(evaluate(op, {Tensor(DType::F32, {0, 40}), w, scales})[0].shape(), (Shape{0, 3}));
}

TEST(BlockMatMul, Errors) {
  const Tensor x = filled({1, 40}, 1), w = Tensor::zeros(DType::U8, {3, 2, 16}),
               scales = filled({3, 2}, 1), zeros = Tensor::zeros(DType::U8, {3, 1});
  const ops::BlockMatMul op(40, 32, 4);
  EXPECT_EQ(error_of(op, {x, w, scales, zeros}), "");
  for (const ops::BlockMatMul& bad :
       {ops::BlockMatMul(0, 32, 4), ops::BlockMatMul(-1, 32, 4), ops::BlockMatMul(40, 0, 4),
        ops::BlockMatMul(40, 48, 4), ops::BlockMatMul(40, 8, 4), ops::BlockMatMul(40, -32, 4),
        ops::BlockMatMul(40, std::int64_t{1} << 40, 4), ops::BlockMatMul(40, 32, 3),
        ops::BlockMatMul(40, 32, 0), ops::BlockMatMul(40, 32, 64), ops::BlockMatMul(41, 32, 4),
        ops::BlockMatMul(40, 16, 4), ops::BlockMatMul(40, 32, 8)}) {
    EXPECT_NE(error_of(bad, {x, w, scales}), "") << bad.params_text();
  }
  EXPECT_NE(error_of(op, {filled({1, 39}, 1), w, scales}), "");
  EXPECT_NE(error_of(op, {filled({}, 1), w, scales}), "");
  EXPECT_NE(error_of(op, {x, w, filled({3, 3}, 1)}), "");
  EXPECT_NE(error_of(op, {x, w, filled({2, 2}, 1)}), "");
  EXPECT_NE(error_of(op, {x, w, filled({6}, 1)}), "");
  EXPECT_NE(error_of(op, {x, w, Tensor(DType::F16, {3, 2})}), "");
  EXPECT_NE(error_of(op, {x, filled({3, 2, 16}, 1), scales}), "");
  EXPECT_NE(error_of(op, {x, Tensor::zeros(DType::U8, {}), scales}), "");
  EXPECT_NE(error_of(op, {x, w, scales, Tensor::zeros(DType::U8, {3, 2})}), "");
  EXPECT_NE(error_of(op, {x, w, scales, filled({3, 1}, 1)}), "");
  EXPECT_NE(error_of(op, {x, w}), "");
}

}  // namespace
}  // namespace treadle
