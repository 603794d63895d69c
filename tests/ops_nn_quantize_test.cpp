#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/quantize.hpp"
#include "ops_nn_util.hpp"

namespace treadle {
namespace {

using ops::DequantizeLinear;
using ops::QuantizeLinear;
using namespace test;
using Ints = std::vector<std::int64_t>;

QuantizeLinear quantize(DType to, std::int64_t axis = 0, std::int64_t block = 0) {
  QuantizeLinear q;
  q.to = to;
  q.axis = axis;
  q.block_size = block;
  return q;
}

// Case H10.
TEST(QuantizeLinear, TiesToEvenAndSaturation) {
  const Tensor x = Tensor::of<float>({7}, {.5f, 1.5f, 2.5f, -.5f, -1.5f, 300, -300});
  const Tensor one = Tensor::scalar<float>(1);
  EXPECT_EQ(evaluate(quantize(DType::I8), {x, one})[0].to_i64(), (Ints{0, 2, 2, 0, -2, 127, -128}));
  EXPECT_EQ(evaluate(quantize(DType::U8), {x, one, Tensor::scalar<std::uint8_t>(1)})[0].to_i64(),
            (Ints{1, 3, 3, 1, 0, 255, 0}));
}

TEST(QuantizeLinear, Half) {
  const Tensor x = Tensor::of<Half>({2}, {Half(.0500183f), Half(-.0500183f)});
  const Tensor scale = Tensor::scalar<Half>(Half(.0999756f));
  EXPECT_EQ(evaluate(quantize(DType::I8), {x, scale})[0].to_i64(), (Ints{1, -1}));
}

TEST(QuantizeLinear, ExtremesAreSafe) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::of<float>({5}, {inf, -inf, nan, 3e38f, -3e38f});
  const Tensor one = Tensor::scalar<float>(1);
  EXPECT_EQ(evaluate(quantize(DType::I32), {x, one})[0].to_i64(),
            (Ints{2147483647, -2147483648LL, 0, 2147483647, -2147483648LL}));
  EXPECT_EQ(evaluate(quantize(DType::I8), {x, one, Tensor::scalar<std::int8_t>(5)})[0].to_i64(),
            (Ints{127, -128, 5, 127, -128}));
  EXPECT_EQ(
      evaluate(quantize(DType::I8), {Tensor::of<float>({2}, {0, 1}), Tensor::scalar<float>(0)})[0]
          .to_i64(),
      (Ints{0, 127}));
}

TEST(QuantizeLinear, PerAxisAndBlocked) {
  const Tensor x = Tensor::of<float>({2, 3}, {2, 4, 6, 20, 40, 60});
  const Tensor scale = Tensor::of<float>({2}, {2, 20});
  const Tensor zero = Tensor::of<std::int16_t>({2}, {0, 100});
  EXPECT_EQ(evaluate(quantize(DType::I16, 0), {x, scale, zero})[0].to_i64(),
            (Ints{1, 2, 3, 101, 102, 103}));
  const Tensor columns = Tensor::of<float>({3}, {1, 2, 3});
  EXPECT_EQ(evaluate(quantize(DType::I8, 1), {x, columns})[0].to_i64(),
            (Ints{2, 2, 2, 20, 20, 20}));
  // Blocks of two along axis 1: the last has one column.
  const Tensor blocks = Tensor::of<float>({2, 2}, {2, 3, 20, 30});
  EXPECT_EQ(evaluate(quantize(DType::I8, 1, 2), {x, blocks})[0].to_i64(), (Ints{1, 2, 2, 1, 2, 2}));
}

TEST(DequantizeLinear, ScalarPerAxisAndBlocked) {
  const Tensor x = Tensor::of<std::uint8_t>({2, 3}, {0, 128, 255, 1, 2, 3});
  DequantizeLinear d;
  EXPECT_EQ(
      values(evaluate(d, {x, Tensor::scalar<float>(.5f), Tensor::scalar<std::uint8_t>(128)})[0]),
      (std::vector<double>{-64, 0, 63.5, -63.5, -63, -62.5}));
  d.axis = 1;
  d.to = DType::F16;
  const Tensor y = evaluate(d, {x, Tensor::of<Half>({3}, {Half(1), Half(2), Half(.5f)})})[0];
  EXPECT_EQ(y.dtype(), DType::F16);
  EXPECT_EQ(values(y), (std::vector<double>{0, 256, 127.5, 1, 4, 1.5}));
  d.axis = 0;
  d.to = DType::F32;
  d.block_size = 2;
  EXPECT_EQ(values(evaluate(d, {x, Tensor::of<float>({1, 3}, {1, 2, 3})})[0]),
            (std::vector<double>{0, 256, 765, 1, 4, 9}));
}

TEST(QuantizeLinear, NarrowIntegersSaturate) {
  const Tensor x = Tensor::of<float>({6}, {-30, -2.5f, 0.5f, 1.5f, 6, 30});
  const Tensor half = Tensor::scalar<float>(2);
  const auto result = [&](DType to) { return evaluate(quantize(to), {x, half})[0].to_i64(); };
  EXPECT_EQ(result(DType::I4), (Ints{-8, -1, 0, 1, 3, 7}));
  EXPECT_EQ(result(DType::U4), (Ints{0, 0, 0, 1, 3, 15}));
  EXPECT_EQ(result(DType::I2), (Ints{-2, -1, 0, 1, 1, 1}));
  EXPECT_EQ(result(DType::U2), (Ints{0, 0, 0, 1, 3, 3}));
}

TEST(QuantizeLinear, NarrowFloats) {
  const Tensor x = Tensor::of<float>({5}, {-1e6f, 2.2f, 34, 1e6f, 0});
  const Tensor two = Tensor::scalar<float>(2);
  QuantizeLinear q = quantize(DType::F8E4M3FN);
  // 1.1 lies nearest to 1.125, 17 half way between 16 and 18.
  EXPECT_EQ(values(evaluate(q, {x, two})[0]), (std::vector<double>{-448, 1.125, 16, 448, 0}));
  q.saturate = false;
  EXPECT_TRUE(std::isnan(values(evaluate(q, {x, two})[0])[3]));
  EXPECT_EQ(values(evaluate(quantize(DType::F4E2M1), {x, two})[0]),
            (std::vector<double>{-6, 1, 6, 6, 0}));
  EXPECT_NE(error_of(quantize(DType::F8E8M0), {x, two}), "");
}

// f16 numbers near 1000 are 0.5 apart: 1023.375 becomes 1023.5, which rounds to the even 1024.
TEST(QuantizeLinear, RoundsTheQuotientToItsPrecision) {
  const Tensor x = Tensor::of<float>({1}, {1023.375f}), one = Tensor::scalar<float>(1);
  QuantizeLinear q = quantize(DType::I16);
  EXPECT_EQ(evaluate(q, {x, one})[0].to_i64(), (Ints{1023}));
  q.precision = DType::F16;
  EXPECT_EQ(evaluate(q, {x, one})[0].to_i64(), (Ints{1024}));
}

TEST(DequantizeLinear, NarrowTypes) {
  Tensor x(DType::I4, {4});
  const std::int8_t codes[] = {-8, -1, 0, 7};
  std::copy_n(codes, 4, static_cast<std::int8_t*>(x.mutable_data()));
  DequantizeLinear d;
  EXPECT_EQ(values(evaluate(d, {x, Tensor::scalar<float>(.5f)})[0]),
            (std::vector<double>{-4, -.5, 0, 3.5}));
  // f8e8m0 code 129 is 2 to the second; f4e2m1 codes 1, 7, 15 are .5, 6, -6.
  Tensor y(DType::F4E2M1, {3}), scale(DType::F8E8M0, {1});
  const std::uint8_t bits[] = {1, 7, 15};
  std::copy_n(bits, 3, static_cast<std::uint8_t*>(y.mutable_data()));
  *static_cast<std::uint8_t*>(scale.mutable_data()) = 129;
  d.to = DType::F16;
  EXPECT_EQ(values(evaluate(d, {y, scale.reshaped({})})[0]), (std::vector<double>{2, 24, -24}));
}

TEST(QuantizeLinear, Errors) {
  const Tensor x = counting({2, 3}, 0), one = Tensor::scalar<float>(1);
  EXPECT_NE(error_of(quantize(DType::I8, 2), {x, counting({2}, 1)}), "");
  EXPECT_NE(error_of(quantize(DType::I8, 0), {x, counting({3}, 1)}), "");
  EXPECT_NE(error_of(quantize(DType::I8), {x, one, Tensor::scalar<std::uint8_t>(1)}), "");
  EXPECT_NE(error_of(quantize(DType::F32), {x, one}), "");
  EXPECT_NE(error_of(quantize(DType::I8, 1, 2), {x, counting({2, 3}, 1)}), "");
}

}  // namespace
}  // namespace treadle
