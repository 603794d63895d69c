// Unary, Binary, Select and Cast against hand-computed values.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "graph/evaluate.hpp"
#include "ops/binary.hpp"
#include "ops/bit_cast.hpp"
#include "ops/cast.hpp"
#include "ops/unary.hpp"

namespace treadle::ops {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr auto kMin32 = std::numeric_limits<std::int32_t>::min();

Tensor floats(std::initializer_list<float> v) {
  return Tensor::of<float>(Shape{static_cast<std::int64_t>(v.size())}, v);
}

template <typename T>
Tensor row(std::initializer_list<T> v) {
  return Tensor::of<T>(Shape{static_cast<std::int64_t>(v.size())}, v);
}

template <typename T>
std::vector<T> list(const Tensor& t) {
  const auto s = t.span<T>();
  return {s.begin(), s.end()};
}

Tensor apply(BinaryFn fn, const Tensor& a, const Tensor& b) {
  return evaluate(Binary(fn), {a, b})[0];
}

Tensor apply(const Unary& op, const Tensor& x) {
  return evaluate(op, {x})[0];
}

void expect_same(const Tensor& got, std::initializer_list<float> want) {
  const auto s = got.span<float>();
  ASSERT_EQ(s.size(), want.size());
  std::size_t i = 0;
  for (const float w : want) {
    if (std::isnan(w)) {
      EXPECT_TRUE(std::isnan(s[i])) << "element " << i << " is " << s[i];
    } else if (std::isinf(w)) {
      EXPECT_EQ(s[i], w) << "element " << i;
    } else {
      EXPECT_NEAR(s[i], w, 1e-6f + 1e-6f * std::fabs(w)) << "element " << i;
    }
    ++i;
  }
}

// Case H06.
TEST(OpsMathBinary, IntegerDivisionTruncatesAndModuloFollowsTheDivisor) {
  const auto check_signs = [](auto zero) {
    using T = decltype(zero);
    const Tensor a = row<T>({-11, 11, -11, 11}), b = row<T>({3, -3, -3, 3});
    EXPECT_EQ(list<T>(apply(BinaryFn::Div, a, b)), (std::vector<T>{-3, -3, 3, 3}));
    EXPECT_EQ(list<T>(apply(BinaryFn::FloorMod, a, b)), (std::vector<T>{1, -1, -2, 2}));
    EXPECT_EQ(list<T>(apply(BinaryFn::Fmod, a, b)), (std::vector<T>{-2, 2, -2, 2}));
    EXPECT_EQ(list<T>(apply(BinaryFn::FloorDiv, a, b)), (std::vector<T>{-4, -4, 3, 3}));
  };
  check_signs(std::int8_t{});
  check_signs(std::int32_t{});
  check_signs(std::int64_t{});
  expect_same(apply(BinaryFn::Fmod, floats({-11.5, 11.5, -11.5}), floats({3, -3, -3})),
              {-2.5, 2.5, -2.5});
}

// Case H06 inside shape arithmetic: N/2 and N%4 of a symbolic size, constants folded exactly.
TEST(OpsMathBinary, SizesFollow) {
  Fact n = Fact::tensor(DType::I64, {Dim(2)});
  n.dims = std::make_shared<const std::vector<Dim>>(std::vector<Dim>{Dim::symbol("N"), Dim(-11)});
  const Fact two = Fact::constant(Tensor::of<std::int64_t>(Shape{1}, {3}));
  const Fact* in[] = {&n, &two};
  const Fact half = Binary(BinaryFn::Div).infer(in)[0];
  ASSERT_TRUE(half.dims);
  EXPECT_EQ((*half.dims)[0], floor_div(Dim::symbol("N"), Dim(3)));
  EXPECT_EQ((*half.dims)[1], Dim(-3));
  const Fact rest = Binary(BinaryFn::FloorMod).infer(in)[0];
  ASSERT_TRUE(rest.dims);
  EXPECT_EQ((*rest.dims)[1], Dim(1));
}

TEST(OpsMathBinary, ASizeIsNeverMinusOne) {
  Fact n = Fact::tensor(DType::I64, {Dim(2)});
  n.dims = std::make_shared<const std::vector<Dim>>(std::vector<Dim>{Dim::symbol("N"), Dim(-1)});
  const Fact minus = Fact::constant(Tensor::of<std::int64_t>(Shape{1}, {-1}));
  const Fact* in[] = {&n, &minus};
  const Fact out = Binary(BinaryFn::Equal).infer(in)[0];
  ASSERT_TRUE(out.value);
  EXPECT_EQ(list<bool>(*out.value), (std::vector<bool>{false, true}));
  const Fact one = Fact::constant(Tensor::of<std::int64_t>(Shape{1}, {1}));
  const Fact* unknown[] = {&n, &one};
  EXPECT_FALSE(Binary(BinaryFn::Equal).infer(unknown)[0].value);
}

TEST(OpsMathBinary, IntegerEdgesAreDefined) {
  const Tensor a = row<std::int32_t>({kMin32, 7, kMin32}), b = row<std::int32_t>({-1, 0, -1});
  EXPECT_EQ(list<std::int32_t>(apply(BinaryFn::Div, a, b)),
            (std::vector<std::int32_t>{kMin32, 0, kMin32}));
  EXPECT_EQ(list<std::int32_t>(apply(BinaryFn::FloorMod, a, b)),
            (std::vector<std::int32_t>{0, 0, 0}));
  EXPECT_EQ(list<std::int32_t>(apply(BinaryFn::Sub, a, row<std::int32_t>({1, 1, 1})))[0],
            std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(list<std::int8_t>(apply(BinaryFn::Mul, row<std::int8_t>({100}), row<std::int8_t>({3}))),
            (std::vector<std::int8_t>{44}));
  EXPECT_EQ(list<std::int32_t>(apply(BinaryFn::Pow, row<std::int32_t>({2, -1, 3, 0}),
                                     row<std::int32_t>({10, -3, -1, -2}))),
            (std::vector<std::int32_t>{1024, -1, 0, 0}));
}

TEST(OpsMathBinary, ShiftsByTheWidthAndMore) {
  const Tensor x = row<std::uint8_t>({16, 4, 255}), by = row<std::uint8_t>({1, 8, 200});
  EXPECT_EQ(list<std::uint8_t>(apply(BinaryFn::ShiftRight, x, by)),
            (std::vector<std::uint8_t>{8, 0, 0}));
  EXPECT_EQ(list<std::uint8_t>(apply(BinaryFn::ShiftLeft, x, by)),
            (std::vector<std::uint8_t>{32, 0, 0}));
  EXPECT_EQ(list<std::int32_t>(apply(BinaryFn::ShiftRight, row<std::int32_t>({-8, -8, -8, 8}),
                                     row<std::int32_t>({1, 32, -1, 99}))),
            (std::vector<std::int32_t>{-4, -1, -1, 0}));
}

// Case H12.
TEST(OpsMathBinary, NaNWinsInMinAndMax) {
  const Tensor a = Tensor::of<float>(Shape{3, 1}, {kNaN, 1, 20});
  expect_same(apply(BinaryFn::Min, a, Tensor::of<float>(Shape{1, 1}, {10})), {kNaN, 1, 10});
  expect_same(apply(BinaryFn::Max, floats({10}), floats({10, kNaN, 20})), {10, kNaN, 20});
  expect_same(apply(BinaryFn::Max, floats({10}), floats({kNaN, 1, 20, kNaN, 2})),
              {kNaN, 10, 20, kNaN, 10});
}

TEST(OpsMathBinary, BroadcastsOverAnyAxis) {
  const Tensor a = Tensor::of<float>(Shape{2, 1, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor b = Tensor::of<float>(Shape{1, 2, 1}, {10, 20});
  const Tensor y = apply(BinaryFn::Add, a, b);
  EXPECT_EQ(y.shape(), (Shape{2, 2, 3}));
  expect_same(y, {11, 12, 13, 21, 22, 23, 14, 15, 16, 24, 25, 26});
  EXPECT_EQ(apply(BinaryFn::Add, a, Tensor(DType::F32, Shape{2, 0, 3})).shape(), (Shape{2, 0, 3}));
}

TEST(OpsMathBinary, ErrorsNameInputAndSizes) {
  try {
    apply(BinaryFn::Add, floats({1, 2, 3}), floats({1, 2}));
    FAIL() << "no error";
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("input 1"), std::string::npos) << text;
    EXPECT_NE(text.find("3 and 2"), std::string::npos) << text;
  }
  EXPECT_THROW(apply(BinaryFn::Add, floats({1}), row<std::int32_t>({1})), Error);
  EXPECT_THROW(apply(BinaryFn::And, floats({1}), floats({1})), Error);
}

TEST(OpsMathBinary, ComparesStrings) {
  const Tensor a = Tensor::of<std::string>(Shape{2}, {"x", "y"});
  const Tensor b = Tensor::of<std::string>(Shape{1}, {"y"});
  EXPECT_EQ(list<bool>(apply(BinaryFn::Equal, a, b)), (std::vector<bool>{false, true}));
}

TEST(OpsMathBinary, HalfIsComputedInF32) {
  const Tensor a = row<Half>({Half(2048.f)}), b = row<Half>({Half(3.f)});
  // 2051 lies between 2050 and 2052; the even mantissa is 2052's.
  EXPECT_EQ(static_cast<float>(apply(BinaryFn::Add, a, b).span<Half>()[0]), 2052.f);
}

// Case H12.
TEST(OpsMathUnary, ClipAndReluPassNaN) {
  expect_same(apply(Unary(UnaryFn::Clip, 2, 1), floats({-2, 0, 6, kNaN})), {1, 1, 1, kNaN});
  expect_same(apply(Unary(UnaryFn::Relu), floats({kNaN, -1, 2, -kInf, kInf})),
              {kNaN, 0, 2, 0, kInf});
}

TEST(OpsMathUnary, Activations) {
  const Tensor x = floats({-1, 0, 2});
  expect_same(apply(Unary(UnaryFn::LeakyRelu, 0.1), x), {-0.1f, 0, 2});
  expect_same(apply(Unary(UnaryFn::Elu, 2), x), {-1.2642411f, 0, 2});
  expect_same(apply(Unary(UnaryFn::Celu, 2), x), {-0.7869387f, 0, 2});
  expect_same(apply(Unary(UnaryFn::Selu, 2, 3), x), {-3.7927234f, 0, 6});
  expect_same(apply(Unary(UnaryFn::Sigmoid), x), {0.26894142f, 0.5f, 0.880797f});
  expect_same(apply(Unary(UnaryFn::HardSigmoid, 0.2, 0.5), x), {0.3f, 0.5f, 0.9f});
  expect_same(apply(Unary(UnaryFn::HardSwish), x), {-1.f / 3, 0, 5.f / 3});
  expect_same(apply(Unary(UnaryFn::Silu, 1), x), {-0.26894142f, 0, 1.7615942f});
  expect_same(apply(Unary(UnaryFn::Softplus), floats({-1, 0, 100})),
              {0.31326169f, 0.6931472f, 100});
  expect_same(apply(Unary(UnaryFn::Softsign), x), {-0.5f, 0, 2.f / 3});
  expect_same(apply(Unary(UnaryFn::Gelu), x), {-0.15865525f, 0, 1.9544997f});
  expect_same(apply(Unary(UnaryFn::GeluTanh), x), {-0.15880801f, 0, 1.9545977f});
  expect_same(apply(Unary(UnaryFn::ThresholdedRelu, 1), x), {0, 0, 2});
  expect_same(apply(Unary(UnaryFn::Shrink, 0.5, 1.5), floats({-2, -1, 2})), {-1.5f, 0, 1.5f});
}

TEST(OpsMathUnary, RoundsHalfToEvenAndKeepsIntegersDefined) {
  expect_same(apply(Unary(UnaryFn::Round), floats({0.5, 1.5, 2.5, -0.5, -1.5})), {0, 2, 2, 0, -2});
  EXPECT_EQ(list<std::int32_t>(apply(Unary(UnaryFn::Abs), row<std::int32_t>({kMin32, -3}))),
            (std::vector<std::int32_t>{kMin32, 3}));
  EXPECT_EQ(list<std::int32_t>(apply(Unary(UnaryFn::Neg), row<std::int32_t>({kMin32, 3}))),
            (std::vector<std::int32_t>{kMin32, -3}));
  EXPECT_THROW(apply(Unary(UnaryFn::Exp), row<std::int32_t>({1})), Error);
}

TEST(OpsMathUnary, TestsForInfinityOfEitherSign) {
  const Tensor x = floats({-kInf, kInf, kNaN, 1});
  EXPECT_EQ(list<bool>(apply(Unary(UnaryFn::IsInf, 1, 0), x)),
            (std::vector<bool>{false, true, false, false}));
  EXPECT_EQ(list<bool>(apply(Unary(UnaryFn::IsInf, 0, 1), x)),
            (std::vector<bool>{true, false, false, false}));
  EXPECT_EQ(list<bool>(apply(Unary(UnaryFn::IsNaN), x)),
            (std::vector<bool>{false, false, true, false}));
}

// Case H19.
TEST(OpsMathCast, TruncatesSaturatesAndMapsNaN) {
  const auto to = [](DType t, const Tensor& x) { return evaluate(Cast(t), {x})[0]; };
  const Tensor x = floats({1.9f, -1.9f, 0.1f, -0.0f});
  EXPECT_EQ(list<std::int32_t>(to(DType::I32, x)), (std::vector<std::int32_t>{1, -1, 0, 0}));
  EXPECT_EQ(list<std::int8_t>(to(DType::I8, x)), (std::vector<std::int8_t>{1, -1, 0, 0}));
  EXPECT_EQ(list<bool>(to(DType::Bool, x)), (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(list<bool>(to(DType::Bool, floats({kNaN}))), (std::vector<bool>{true}));
  const Tensor wild = floats({300, -300, kNaN, kInf, -kInf, 1e30f});
  EXPECT_EQ(list<std::int8_t>(to(DType::I8, wild)),
            (std::vector<std::int8_t>{127, -128, 0, 127, -128, 127}));
  EXPECT_EQ(list<std::uint8_t>(to(DType::U8, floats({-1, 256, -0.5f}))),
            (std::vector<std::uint8_t>{0, 255, 0}));
  EXPECT_EQ(list<std::int64_t>(to(DType::I64, floats({1e30f, -1e30f}))),
            (std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max(),
                                       std::numeric_limits<std::int64_t>::min()}));
  EXPECT_EQ(list<std::int8_t>(to(DType::I8, row<std::int32_t>({300}))),
            (std::vector<std::int8_t>{44}));
}

TEST(OpsMathCast, RoundsOnceFromF64ToHalf) {
  // 1 + 2^-11 + 2^-40 is above the tie between 1 and 1 + 2^-10; rounding to f32 first would land on
  // the tie and then on 1.
  const Tensor x = row<double>({1.0 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40)});
  EXPECT_EQ(static_cast<float>(evaluate(Cast(DType::F16), {x})[0].span<Half>()[0]),
            1.0f + std::ldexp(1.0f, -10));
}

TEST(OpsMathCast, Strings) {
  const Tensor text = Tensor::of<std::string>(Shape{4}, {"1.5", "-INF", "NaN", "+2e1"});
  expect_same(evaluate(Cast(DType::F32), {text})[0], {1.5f, -kInf, kNaN, 20});
  const Tensor back = evaluate(Cast(DType::String), {floats({1.5f, kInf, kNaN})})[0];
  EXPECT_EQ(list<std::string>(back), (std::vector<std::string>{"1.5", "INF", "NaN"}));
  EXPECT_THROW(evaluate(Cast(DType::F32), {Tensor::of<std::string>(Shape{1}, {"one"})}), Error);
}

TEST(OpsMathCast, BitsStay) {
  const Tensor y = evaluate(BitCast(DType::I32), {floats({1.0f})})[0];
  EXPECT_EQ(list<std::int32_t>(y), (std::vector<std::int32_t>{0x3f800000}));
  EXPECT_THROW(evaluate(BitCast(DType::I64), {floats({1.0f})}), Error);
}

TEST(OpsMathSelect, BroadcastsAllThree) {
  const Tensor c = Tensor::of<bool>(Shape{2, 1}, {true, false});
  const Tensor a = Tensor::of<float>(Shape{1, 3}, {1, 2, 3});
  const Tensor b = Tensor::of<float>(Shape{1, 1}, {9});
  expect_same(evaluate(Select(), {c, a, b})[0], {1, 2, 3, 9, 9, 9});
  const Tensor s = evaluate(Select(), {Tensor::of<bool>(Shape{2}, {true, false}),
                                       Tensor::of<std::string>(Shape{1}, {"a"}),
                                       Tensor::of<std::string>(Shape{2}, {"b", "c"})})[0];
  EXPECT_EQ(list<std::string>(s), (std::vector<std::string>{"a", "c"}));
}

}  // namespace
}  // namespace treadle::ops
