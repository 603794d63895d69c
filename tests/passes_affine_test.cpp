// Constant multiplications and additions into convolutions and products.
#include <limits>

#include "ops/contract.hpp"
#include "ops/conv.hpp"
#include "ops/conv_transpose.hpp"
#include "ops/move.hpp"
#include "ops/pool.hpp"
#include "passes_util.hpp"

namespace treadle::passes_test {
namespace {

using ops::BinaryFn;

ValueId constant(Graph& g, const std::string& name, const Shape& shape, std::uint32_t seed = 5) {
  return g.add_constant(name, random_f32(seed, shape, 0.5f, 2.0f));
}

std::shared_ptr<ops::Conv> conv_op(std::int64_t pad, std::int64_t group = 1) {
  auto op = std::make_shared<ops::Conv>();
  op->strides = op->dilations = {1, 1};
  op->padding.before = op->padding.after = {pad, pad};
  op->group = group;
  return op;
}

TEST(MergeAffine, ConstantsMeet) {
  Graph g;
  const ValueId x = source(g, "x", {2, 3, 4});
  ValueId v = ops::binary(g, "a", BinaryFn::Mul, x, constant(g, "ca", {1, 3, 1}));
  v = ops::binary(g, "b", BinaryFn::Div, v, constant(g, "cb", {1, 1, 1}));
  v = ops::binary(g, "c", BinaryFn::Sub, v, constant(g, "cc", {1, 3, 1}));
  v = ops::binary(g, "d", BinaryFn::Add, v, constant(g, "cd", {1, 1, 1}));
  v = ops::binary(g, "e", BinaryFn::Mul, constant(g, "ce", {1, 3, 1}), v);
  g.set_outputs({v}, {"out"});
  check_simplify(g);
  EXPECT_EQ(count(g, "Binary"), 2);
}

TEST(MergeAffine, WhatNearlyCancelsKeepsItsDigits) {
  Graph g;
  const ValueId x = source(g, "x", {2});
  const ValueId mean = g.add_constant("mean", Tensor::of<float>(Shape{1}, {1e7f}));
  const ValueId scale = g.add_constant("scale", Tensor::of<float>(Shape{1}, {1.0f / 3}));
  const ValueId centred = ops::binary(g, "a", BinaryFn::Sub, x, mean);
  g.set_outputs({ops::binary(g, "b", BinaryFn::Mul, centred, scale)}, {"out"});
  EXPECT_EQ(fired(check_simplify(g), "merge_affine"), 0);
  const auto y = evaluate(g, {Value(Tensor::of<float>(Shape{2}, {10000001, 10000005}))});
  EXPECT_FLOAT_EQ(y[0].tensor().span<float>()[0], 1.0f / 3);
  EXPECT_FLOAT_EQ(y[0].tensor().span<float>()[1], 5.0f / 3);
}

TEST(MergeAffine, NotOverTwoAxesNorSharedValues) {
  Graph g;
  const ValueId x = source(g, "x", {2, 3, 4});
  ValueId v = ops::binary(g, "a", BinaryFn::Mul, x, constant(g, "ca", {1, 3, 1}));
  v = ops::binary(g, "b", BinaryFn::Mul, v, constant(g, "cb", {1, 1, 4}));
  g.set_outputs({v}, {"out"});
  EXPECT_EQ(fired(check_simplify(g), "merge_affine"), 0);
  Graph h;
  const ValueId y = source(h, "y", {2, 3});
  const ValueId inner = ops::binary(h, "a", BinaryFn::Mul, y, constant(h, "ca", {1, 1}));
  const ValueId outer = ops::binary(h, "b", BinaryFn::Mul, inner, constant(h, "cb", {1, 1}, 6));
  h.set_outputs({inner, outer}, {"inner", "outer"});
  EXPECT_EQ(check_simplify(h).patches, 0);
}

Tensor halves(const Shape& shape, std::initializer_list<float> values) {
  std::vector<Half> out;
  for (const float v : values) out.push_back(Half(v));
  return Tensor::from(shape, std::span<const Half>(out));
}

// Simplified, the graph of `build` over a source x gives the wanted halves within `tolerance` of
// the largest.
template <typename F>
void expect_halves(const Shape& shape, std::initializer_list<float> x, F build,
                   std::vector<double> want, double tolerance = 2e-3) {
  Graph g;
  const ValueId out = build(g, source(g, "x", to_sym(shape), DType::F16));
  g.set_outputs({out}, {"out"});
  simplify(g);
  const auto got = evaluate(g, {Value(halves(shape, x))})[0].tensor().to_f64();
  ASSERT_EQ(got.size(), want.size());
  double largest = 0;
  for (const double v : want) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got[i], want[i], tolerance * largest) << i;
}

// Constants that would leave the range of f16, or its digits, though no value of the model does.
TEST(HalfPrecision, ConstantsThatDoNotFitStayApart) {
  const auto c = [](Graph& g, const char* name, int rank, float v) {
    Shape ones;
    for (int i = 0; i < rank; ++i) ones.push_back(1);
    return g.add_constant(name, halves(ones, {v}));
  };
  expect_halves({4}, {992, 1000, 1001, 1008},
                [&](Graph& g, ValueId x) {
                  const ValueId t = ops::binary(g, "t", BinaryFn::Sub, x, c(g, "a", 1, 1000));
                  return ops::binary(g, "y", BinaryFn::Div, t, c(g, "b", 1, 0.01f));
                },
                {-800, 0, 100, 800});
  expect_halves({3}, {0, 1e-3f, -1e-3f},
                [&](Graph& g, ValueId x) {
                  const ValueId t = ops::binary(g, "t", BinaryFn::Mul, x, c(g, "a", 1, 300));
                  return ops::binary(g, "y", BinaryFn::Mul, t, c(g, "b", 1, 300));
                },
                {0, 90, -90});
  expect_halves({2}, {60000, 30000},
                [&](Graph& g, ValueId x) {
                  return ops::binary(g, "z", BinaryFn::Mul,
                                     ops::binary(g, "y", BinaryFn::Div, x, c(g, "a", 1, 60000)),
                                     c(g, "b", 1, 3));
                },
                {3, 1.5});
  expect_halves({1, 1, 1, 4}, {1e-3f, 0, -1e-3f, 2e-3f},
                [&](Graph& g, ValueId x) {
                  const ValueId t = g.add1("conv", conv_op(0), {x, c(g, "w", 4, 100)});
                  return ops::binary(g, "y", BinaryFn::Mul, t, c(g, "s", 4, 1000));
                },
                {100, 0, -100, 200});
  expect_halves({1, 1, 1, 2}, {1000, 1008},
                [&](Graph& g, ValueId x) {
                  const ValueId t = ops::binary(g, "t", BinaryFn::Add, x, c(g, "a", 4, -1000));
                  return g.add1("conv", conv_op(0), {t, c(g, "w", 4, 3.3f)});
                },
                {0, 26.4});
  expect_halves({2, 1}, {1e4f, 2e4f},
                [&](Graph& g, ValueId x) {
                  const ValueId t = ops::matmul(g, "mm", x, c(g, "w", 2, 7e-4f));
                  return ops::binary(g, "y", BinaryFn::Mul, t, c(g, "s", 2, 1e-4f));
                },
                {7e-4, 1.4e-3});
}

// Changing a sign loses nothing, whatever the digits.
TEST(HalfPrecision, DenormalsAreSubtracted) {
  expect_halves(
      {1, 1, 1, 2}, {0, 1e-5f},
      [](Graph& g, ValueId x) {
        const ValueId t =
            g.add1("conv", conv_op(0), {x, g.add_constant("w", halves({1, 1, 1, 1}, {1}))});
        return ops::binary(g, "y", BinaryFn::Sub, t,
                           g.add_constant("c", halves({1, 1, 1, 1}, {1e-5f})));
      },
      {-1e-5, 0}, 1e-2);
}

TEST(HalfPrecision, ConstantsThatFitMeet) {
  Graph g;
  const ValueId x = source(g, "x", {1, 1, 1, 4}, DType::F16);
  ValueId v = g.add1("conv", conv_op(0), {x, g.add_constant("w", halves({1, 1, 1, 1}, {0.5f}))});
  v = ops::binary(g, "m", BinaryFn::Mul, v, g.add_constant("s", halves({1, 1, 1, 1}, {4})));
  v = ops::binary(g, "a", BinaryFn::Add, v, g.add_constant("t", halves({1, 1, 1, 1}, {-3})));
  g.set_outputs({v}, {"out"});
  EXPECT_EQ(fired(simplify(g), "affine_into_conv"), 2);
  const auto got = evaluate(g, {Value(halves({1, 1, 1, 4}, {1, 2, 3, 4}))})[0].tensor().to_f64();
  EXPECT_EQ(got, (std::vector<double>{-1, 1, 3, 5}));
}

TEST(AffineIntoConv, BatchNormalisationGoes) {
  for (const std::int64_t group : {1, 2}) {
    for (const bool bias : {false, true}) {
      Graph g;
      const ValueId x = source(g, "x", {2, 4, 5, 5});
      std::vector<ValueId> in = {x, constant(g, "w", {6, 4 / group, 3, 3})};
      if (bias) in.push_back(constant(g, "b", {6}));
      ValueId v = g.add1("conv", conv_op(1, group), in);
      v = ops::binary(g, "m", BinaryFn::Mul, v, constant(g, "s", {1, 6, 1, 1}));
      v = ops::binary(g, "a", BinaryFn::Sub, v, constant(g, "t", {1, 6, 1, 1}));
      g.set_outputs({v}, {"out"});
      EXPECT_EQ(fired(check_simplify(g), "affine_into_conv"), 2);
      EXPECT_EQ(count(g, "Binary"), 0);
      EXPECT_EQ(g.value_name(g.outputs()[0]), "a");
    }
  }
}

TEST(AffineIntoConv, EveryWeightLayout) {
  using ops::WeightLayout;
  for (const auto layout : {WeightLayout::OIHW, WeightLayout::HWIO, WeightLayout::OHWI}) {
    Graph g;
    auto op = conv_op(0);
    op->layout = ops::Layout::ChannelsLast;
    op->weight_layout = layout;
    const Shape w = layout == WeightLayout::OIHW   ? Shape{6, 4, 3, 2}
                    : layout == WeightLayout::HWIO ? Shape{3, 2, 4, 6}
                                                   : Shape{6, 3, 2, 4};
    ValueId v = source(g, "x", {2, 5, 5, 4});
    v = ops::binary(g, "p", BinaryFn::Sub, v, constant(g, "u", {1, 1, 1, 4}));
    v = ops::binary(g, "q", BinaryFn::Mul, v, constant(g, "r", {1, 1, 1, 4}, 9));
    v = g.add1("conv", op, {v, constant(g, "w", w)});
    v = ops::binary(g, "m", BinaryFn::Mul, v, constant(g, "s", {1, 1, 1, 6}));
    g.set_outputs({v}, {"out"});
    check_simplify(g);
    EXPECT_EQ(count(g, "Binary"), 0);
  }
}

TEST(AffineIntoConv, NotAlongAnotherAxisNorASharedResult) {
  Graph g;
  const ValueId x = source(g, "x", {1, 2, 4, 4});
  ValueId v = g.add1("conv", conv_op(1), {x, constant(g, "w", {2, 2, 3, 3})});
  v = ops::binary(g, "m", BinaryFn::Mul, v, constant(g, "s", {1, 1, 1, 4}));
  g.set_outputs({v}, {"out"});
  EXPECT_EQ(check_simplify(g).patches, 0);
  Graph h;
  const ValueId y = source(h, "x", {1, 2, 4, 4});
  const ValueId c = h.add1("conv", conv_op(1), {y, constant(h, "w", {2, 2, 3, 3})});
  const ValueId m = ops::binary(h, "m", BinaryFn::Mul, c, constant(h, "s", {1, 2, 1, 1}));
  h.set_outputs({m, c}, {"out", "raw"});
  EXPECT_EQ(check_simplify(h).patches, 0);
}

TEST(AffineIntoConv, TransposedWithGroups) {
  for (const std::int64_t group : {1, 2}) {
    Graph g;
    auto op = std::make_shared<ops::ConvTranspose>();
    op->strides = {2, 2};
    op->dilations = {1, 1};
    op->padding.before = op->padding.after = {0, 0};
    op->output_padding = {0, 0};
    op->group = group;
    const ValueId x = source(g, "x", {1, 4, 3, 3});
    ValueId v = g.add1("deconv", op, {x, constant(g, "w", {4, 6 / group, 2, 2})});
    v = ops::binary(g, "m", BinaryFn::Mul, v, constant(g, "s", {1, 6, 1, 1}));
    v = ops::binary(g, "a", BinaryFn::Add, v, constant(g, "t", {1, 1, 1, 1}));
    g.set_outputs({v}, {"out"});
    check_simplify(g);
    EXPECT_EQ(count(g, "Binary"), 0);
  }
}

TEST(AffineBeforeConv, AdditionOnlyWithoutPadding) {
  for (const std::int64_t pad : {0, 1}) {
    Graph g;
    ValueId v = source(g, "x", {1, 3, 5, 5});
    v = ops::binary(g, "a", BinaryFn::Sub, v, constant(g, "mean", {1, 3, 1, 1}));
    v = ops::binary(g, "m", BinaryFn::Div, v, constant(g, "std", {1, 3, 1, 1}, 8));
    v = g.add1("conv", conv_op(pad), {v, constant(g, "w", {4, 3, 3, 3})});
    g.set_outputs({v}, {"out"});
    check_simplify(g);
    EXPECT_EQ(count(g, "Binary"), pad == 0 ? 0 : 2);
  }
}

// x and the mean nearly cancel: their difference is exact, x·w and Σ w·mean are rounded.
TEST(AffineBeforeConv, WhatNearlyCancelsKeepsItsDigits) {
  Graph g;
  const ValueId x = source(g, "x", {1, 2, 1, 1});
  const auto constant_of = [&](const char* name, Shape shape, float v) {
    return g.add_constant(name, Tensor::of<float>(shape, {v, v}));
  };
  const ValueId centred =
      ops::binary(g, "a", BinaryFn::Sub, x, constant_of("mean", {1, 2, 1, 1}, 1e7f));
  const ValueId y = g.add1("conv", conv_op(0), {centred, constant_of("w", {1, 2, 1, 1}, 1.0f / 3)});
  g.set_outputs({y}, {"out"});
  EXPECT_EQ(fired(check_simplify(g), "affine_before_conv"), 0);
  const auto out = evaluate(g, {Value(Tensor::of<float>(Shape{1, 2, 1, 1}, {10000001, 10000004}))});
  EXPECT_FLOAT_EQ(out[0].tensor().span<float>()[0], 5.0f / 3);
}

TEST(ScaleIntoContract, OnEitherSide) {
  Graph g;
  ValueId v = source(g, "x", {2, 3, 4});
  v = ops::binary(g, "p", BinaryFn::Mul, v, constant(g, "r", {1, 1, 4}));
  v = ops::matmul(g, "mm", v, constant(g, "w", {4, 5}));
  v = ops::binary(g, "m", BinaryFn::Mul, v, constant(g, "s", {1, 1, 5}));
  v = ops::binary(g, "d", BinaryFn::Div, v, constant(g, "t", {1, 1, 1}));
  g.set_outputs({v}, {"out"});
  check_simplify(g);
  EXPECT_EQ(count(g, "Binary"), 0);
}

TEST(ScaleIntoContract, NotAlongTheOtherOperandsAxis) {
  Graph g;
  ValueId v = source(g, "x", {2, 3, 4});
  v = ops::matmul(g, "mm", v, constant(g, "w", {4, 5}));
  v = ops::binary(g, "m", BinaryFn::Mul, v, constant(g, "s", {1, 3, 1}));
  g.set_outputs({v}, {"out"});
  EXPECT_EQ(fired(check_simplify(g), "scale_into_contract"), 0);
}

ValueId padded(Graph& g, ValueId x, float value, bool channels = false) {
  auto pad = std::make_shared<ops::Pad>();
  pad->before = {0, channels ? 1 : 0, 1, 0};
  pad->after = {0, 0, 1, 2};
  return g.add1("pad", pad, {x, g.add_constant("value", Tensor::scalar<float>(value))});
}

TEST(PadIntoConv, ZerosAroundTheSpatialAxesOnly) {
  for (const int kind : {0, 1, 2}) {
    Graph g;
    const ValueId x = source(g, "x", {1, 2, 4, 4});
    const ValueId p = padded(g, x, kind == 1 ? 1.0f : 0.0f, kind == 2);
    g.set_outputs({g.add1("conv", conv_op(1), {p, constant(g, "w", {4, kind == 2 ? 3 : 2, 3, 3})})},
                  {"out"});
    EXPECT_EQ(fired(check_simplify(g), "pad_into_conv"), kind == 0 ? 1 : 0);
  }
}

TEST(PadIntoConv, PoolsByTheirKind) {
  constexpr float kLow = -std::numeric_limits<float>::infinity();
  for (const auto& [kind, value, fires] :
       {std::tuple(ops::PoolKind::Average, 0.0f, 1), std::tuple(ops::PoolKind::Average, 1.0f, 0),
        std::tuple(ops::PoolKind::Max, kLow, 1), std::tuple(ops::PoolKind::Max, 0.0f, 0)}) {
    Graph g;
    auto op = std::make_shared<ops::Pool>();
    op->kind = kind;
    op->kernel = {3, 3};
    op->strides = op->dilations = {1, 1};
    op->padding.before = op->padding.after = {0, 0};
    const ValueId x = source(g, "x", {1, 2, 4, 4});
    g.set_outputs({g.add1("pool", op, {padded(g, x, value)})}, {"out"});
    EXPECT_EQ(fired(check_simplify(g), "pad_into_conv"), fires);
  }
}

}  // namespace
}  // namespace treadle::passes_test
