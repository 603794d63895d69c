// Reduce, ArgReduce, Softmax, Norm, Lrn, Contract and Det against hand-computed values.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "graph/evaluate.hpp"
#include "ops/build.hpp"
#include "ops/contract.hpp"
#include "ops/det.hpp"
#include "ops/dynamic_reduce.hpp"
#include "ops/inverse.hpp"
#include "ops/norm.hpp"
#include "ops/reduce.hpp"
#include "ops/softmax.hpp"

namespace treadle::ops {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor floats(const Shape& shape, std::initializer_list<float> v) {
  return Tensor::of<float>(shape, v);
}

void expect_near(const Tensor& got, const Shape& shape, std::initializer_list<float> want,
                 float tolerance = 1e-6f) {
  EXPECT_EQ(got.shape(), shape);
  const auto s = got.span<float>();
  ASSERT_EQ(s.size(), want.size());
  std::size_t i = 0;
  for (const float w : want) {
    if (std::isnan(w) || std::isinf(w)) {
      EXPECT_TRUE(std::isnan(w) ? std::isnan(s[i]) : s[i] == w) << i << ": " << s[i];
    } else {
      EXPECT_NEAR(s[i], w, tolerance + tolerance * std::fabs(w)) << "element " << i;
    }
    ++i;
  }
}

Tensor reduce(ReduceFn fn, std::vector<std::int64_t> axes, const Tensor& x) {
  return evaluate(Reduce(fn, std::move(axes)), {x})[0];
}

// Case H11.
TEST(OpsMathReduce, OfNothing) {
  const Tensor x(DType::F32, Shape{2, 0, 3});
  const Shape out{2, 1, 3};
  expect_near(reduce(ReduceFn::Sum, {1}, x), out, {0, 0, 0, 0, 0, 0});
  expect_near(reduce(ReduceFn::Prod, {1}, x), out, {1, 1, 1, 1, 1, 1});
  expect_near(reduce(ReduceFn::Max, {1}, x), out, {-kInf, -kInf, -kInf, -kInf, -kInf, -kInf});
  expect_near(reduce(ReduceFn::Min, {1}, x), out, {kInf, kInf, kInf, kInf, kInf, kInf});
  expect_near(reduce(ReduceFn::Mean, {1}, x), out, {kNaN, kNaN, kNaN, kNaN, kNaN, kNaN});
  expect_near(reduce(ReduceFn::LogSum, {1}, x), out, {-kInf, -kInf, -kInf, -kInf, -kInf, -kInf});
  expect_near(reduce(ReduceFn::LogSumExp, {1}, x), out, {-kInf, -kInf, -kInf, -kInf, -kInf, -kInf});
  const Tensor ints(DType::I32, Shape{1, 0});
  EXPECT_EQ(reduce(ReduceFn::Max, {1}, ints).span<std::int32_t>()[0],
            std::numeric_limits<std::int32_t>::min());
}

// Case H11: no axes reduce nothing, but the function still applies to each element.
TEST(OpsMathReduce, OverNoAxes) {
  const Tensor x = floats(Shape{3}, {1, -2, 3});
  expect_near(reduce(ReduceFn::Sum, {}, x), Shape{3}, {1, -2, 3});
  expect_near(reduce(ReduceFn::SumSquare, {}, x), Shape{3}, {1, 4, 9});
  expect_near(reduce(ReduceFn::L2, {}, x), Shape{3}, {1, 2, 3});
}

TEST(OpsMathReduce, EachFunctionOverInnerOuterAndMixedAxes) {
  const Tensor x = floats(Shape{2, 2, 2}, {1, -2, 3, 4, -5, 6, 7, -8});
  expect_near(reduce(ReduceFn::Sum, {0}, x), Shape{1, 2, 2}, {-4, 4, 10, -4});
  expect_near(reduce(ReduceFn::Sum, {2}, x), Shape{2, 2, 1}, {-1, 7, 1, -1});
  expect_near(reduce(ReduceFn::Sum, {0, 2}, x), Shape{1, 2, 1}, {0, 6});
  expect_near(reduce(ReduceFn::Mean, {0, 1, 2}, x), Shape{1, 1, 1}, {0.75f});
  expect_near(reduce(ReduceFn::Prod, {1}, x), Shape{2, 1, 2}, {3, -8, -35, -48});
  expect_near(reduce(ReduceFn::Min, {1}, x), Shape{2, 1, 2}, {1, -2, -5, -8});
  expect_near(reduce(ReduceFn::Max, {1}, x), Shape{2, 1, 2}, {3, 4, 7, 6});
  expect_near(reduce(ReduceFn::L1, {2}, x), Shape{2, 2, 1}, {3, 7, 11, 15});
  expect_near(reduce(ReduceFn::L2, {1, 2}, floats(Shape{1, 2, 1}, {3, 4})), Shape{1, 1, 1}, {5});
  expect_near(reduce(ReduceFn::LogSumExp, {0}, floats(Shape{2}, {1000, 1000})), Shape{1},
              {1000.6931472f});
}

TEST(OpsMathReduce, NaNWins) {
  const Tensor x = floats(Shape{3}, {1, kNaN, 3});
  expect_near(reduce(ReduceFn::Max, {0}, x), Shape{1}, {kNaN});
  expect_near(reduce(ReduceFn::Min, {0}, x), Shape{1}, {kNaN});
}

// Case H21: 70000 times 2 exceeds the largest f16.
TEST(OpsMathReduce, HalfMeanDoesNotOverflow) {
  Tensor x(DType::F16, Shape{70000});
  for (Half& h : x.mutable_span<Half>()) h = Half(2.0f);
  EXPECT_EQ(static_cast<float>(reduce(ReduceFn::Mean, {0}, x).span<Half>()[0]), 2.0f);
}

TEST(OpsMathReduce, ProductOfSizes) {
  Fact x = Fact::tensor(DType::I64, {Dim(3)});
  x.dims = std::make_shared<const std::vector<Dim>>(
      std::vector<Dim>{Dim::symbol("N"), Dim(3), Dim::symbol("M")});
  const Fact* in[] = {&x};
  const Fact out = Reduce(ReduceFn::Prod, {0}).infer(in)[0];
  ASSERT_TRUE(out.dims);
  EXPECT_EQ((*out.dims)[0], Dim(3) * Dim::symbol("N") * Dim::symbol("M"));
}

TEST(OpsMathReduce, AxesFromTheRun) {
  DynamicReduce op;
  op.sizes = {Dim::symbol("a")};
  op.keep_dims = false;
  const Tensor x = floats(Shape{2, 2}, {1, 2, 3, 4});
  const auto y = evaluate(op, {x, Tensor::of<std::int64_t>(Shape{1}, {-2})});
  expect_near(y[0], Shape{2}, {4, 6});
}

TEST(OpsMathReduce, ArgTakesFirstOrLast) {
  const Tensor x = floats(Shape{2, 3}, {2, 5, 5, 1, 0, 0});
  const auto arg = [&](bool max, std::int64_t axis, bool last) {
    return evaluate(ArgReduce(max, axis, last), {x})[0].to_i64();
  };
  EXPECT_EQ(arg(true, 1, false), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(arg(true, 1, true), (std::vector<std::int64_t>{2, 0}));
  EXPECT_EQ(arg(false, 1, true), (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(arg(false, 0, false), (std::vector<std::int64_t>{1, 1, 1}));
  EXPECT_THROW(evaluate(ArgReduce(true, 1, false), {Tensor(DType::F32, Shape{2, 0})}), Error);
}

TEST(OpsMathSoftmax, OneAxisAllAxesAndLogarithm) {
  const Tensor x = floats(Shape{2, 2}, {0, std::log(3.0f), 1000, 1000});
  expect_near(evaluate(Softmax({1}, false), {x})[0], Shape{2, 2}, {0.25f, 0.75f, 0.5f, 0.5f});
  expect_near(evaluate(Softmax({1}, true), {x})[0], Shape{2, 2},
              {std::log(0.25f), std::log(0.75f), -0.6931472f, -0.6931472f}, 1e-5f);
  const Tensor y = floats(Shape{2, 2}, {0, 0, 0, std::log(2.0f)});
  expect_near(evaluate(Softmax({0, 1}, false), {y})[0], Shape{2, 2}, {0.2f, 0.2f, 0.2f, 0.4f});
  expect_near(evaluate(Softmax({0}, false), {y})[0], Shape{2, 2}, {0.5f, 1.f / 3, 0.5f, 2.f / 3});
}

// Case H08.
TEST(OpsMathNorm, RmsNormIsNotLayerNorm) {
  const Norm rms({1}, 1e-5, false);
  expect_near(evaluate(rms, {floats(Shape{1, 4}, {1, 2, 3, 4})})[0], Shape{1, 4},
              {.3651481f, .7302963f, 1.0954444f, 1.4605926f});
  expect_near(evaluate(rms, {floats(Shape{1, 4}, {5, 5, 5, 5})})[0], Shape{1, 4}, {1, 1, 1, 1});
  const Norm layer({1}, 0, true);
  expect_near(evaluate(layer, {floats(Shape{1, 4}, {1, 2, 3, 4})})[0], Shape{1, 4},
              {-1.3416408f, -0.4472136f, 0.4472136f, 1.3416408f});
}

TEST(OpsMathNorm, LrnWindowReachesFurtherAfter) {
  Lrn op;
  op.size = 2;
  op.alpha = 2;
  op.beta = 1;
  const Tensor x = floats(Shape{1, 3, 1}, {1, 2, 3});
  // x / (1 + 2/2 · (own² + next²)).
  expect_near(evaluate(op, {x})[0], Shape{1, 3, 1}, {1.f / 6, 2.f / 14, 3.f / 10});
}

TEST(OpsMathContract, MatrixProducts) {
  const Tensor a = floats(Shape{2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor b = floats(Shape{3, 2}, {1, 0, 0, 1, 1, 1});
  expect_near(evaluate(Contract({"mk", "kn"}, "mn"), {a, b})[0], Shape{2, 2}, {4, 5, 10, 11});
  const Tensor t = floats(Shape{2, 3}, {1, 0, 1, 0, 1, 1});
  expect_near(evaluate(Contract({"mk", "nk"}, "mn"), {a, t})[0], Shape{2, 2}, {4, 5, 10, 11});
  expect_near(evaluate(Contract({"mk", "kn"}, "nm"), {a, b})[0], Shape{2, 2}, {4, 10, 5, 11});
}

TEST(OpsMathContract, BroadcastsSumsAndMultipliesSeveral) {
  const Tensor a = floats(Shape{2, 1, 2}, {1, 2, 3, 4});
  const Tensor b = floats(Shape{1, 2, 1}, {5, 6});
  expect_near(evaluate(Contract({"bmk", "bkn"}, "bmn"), {a, b})[0], Shape{2, 1, 1}, {17, 39});
  const Tensor v = floats(Shape{2}, {2, 3});
  expect_near(evaluate(Contract({"i", "i", "i"}, ""), {v, v, v})[0], Shape{}, {35});
  expect_near(evaluate(Contract({"i", "j"}, "ji"), {v, floats(Shape{3}, {1, 2, 3})})[0],
              Shape{3, 2}, {2, 3, 4, 6, 6, 9});
  const Tensor none(DType::F32, Shape{2, 0});
  expect_near(evaluate(Contract({"mk", "nk"}, "mn"), {none, none})[0], Shape{2, 2}, {0, 0, 0, 0});
}

TEST(OpsMathContract, SizesMustAgree) {
  const Tensor a(DType::F32, Shape{2, 3}), b(DType::F32, Shape{4, 2});
  try {
    evaluate(Contract({"mk", "kn"}, "mn"), {a, b});
    FAIL() << "no error";
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("input 1 has shape [4, 2]"), std::string::npos) << text;
    EXPECT_NE(text.find("expected 3"), std::string::npos) << text;
  }
}

TEST(OpsMathDet, Pivots) {
  const Tensor x = floats(Shape{2, 2, 2}, {0, 1, 1, 0, 1, 2, 3, 4});
  expect_near(evaluate(Det(), {x})[0], Shape{2}, {-1, -2});
}

TEST(OpsMathInverse, PivotsAndRefusesSingularMatrices) {
  const Tensor x = floats(Shape{2, 2, 2}, {0, 2, 1, 0, 1, 2, 3, 4});
  expect_near(evaluate(Inverse(), {x})[0], Shape{2, 2, 2}, {0, 1, 0.5f, 0, -2, 1, 1.5f, -0.5f});
  EXPECT_THROW(evaluate(Inverse(), {floats(Shape{2, 2}, {1, 2, 2, 4})}), Error);
  EXPECT_THROW(evaluate(Inverse(), {floats(Shape{1, 2}, {1, 2})}), Error);
  EXPECT_EQ(evaluate(Inverse(), {floats(Shape{0, 2, 2}, {})})[0].shape(), (Shape{0, 2, 2}));
}

TEST(OpsMathBuild, MatmulTakesVectorsAndBatches) {
  Graph g;
  const auto source = [&](const char* name, SymShape shape) {
    return g.add_source(name, Fact::tensor(DType::F32, std::move(shape)));
  };
  const Dim n = Dim::symbol("N");
  const ValueId v = source("v", {3}), m = source("m", {3, 4}), b = source("b", {n, 2, 3});
  EXPECT_EQ(g.fact(matmul(g, "vm", v, m)).shape, (SymShape{4}));
  EXPECT_EQ(g.fact(matmul(g, "bm", b, m)).shape, (SymShape{n, 2, 4}));
  EXPECT_EQ(g.fact(matmul(g, "bv", b, v)).shape, (SymShape{n, 2}));
  EXPECT_EQ(g.fact(matmul(g, "vv", v, v)).shape, SymShape{});
}

// Not even one column spreads over several rows.
TEST(OpsMathBuild, MatmulOfSizesThatDiffer) {
  Graph g;
  const auto source = [&](const char* name, SymShape shape) {
    return g.add_source(name, Fact::tensor(DType::F32, std::move(shape)));
  };
  const ValueId one = source("one", {3, 1}), five = source("five", {5, 4});
  const ValueId vector = source("vector", {2});
  for (const auto& [a, b] :
       {std::pair(one, five), std::pair(vector, five), std::pair(five, vector)}) {
    try {
      matmul(g, "mm", a, b);
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::Shape);
      EXPECT_NE(std::string(e.what()).find("columns, but"), std::string::npos) << e.what();
    }
  }
}

TEST(OpsMathBuild, ConstantsAreReshapedInPlaceOfUnsqueeze) {
  Graph g;
  const ValueId x = g.add_source("x", Fact::tensor(DType::F32, {2, 3}));
  const ValueId c = g.add_constant("c", floats(Shape{3}, {1, 2, 3}));
  const ValueId y = binary(g, "y", BinaryFn::Add, x, c);
  const Node& node = g.node(y.node);
  EXPECT_EQ(g.node(node.inputs[1].node).op->name(), "Constant");
  EXPECT_EQ(g.fact(node.inputs[1]).shape, (SymShape{1, 3}));
}

TEST(OpsMathBuild, AxesAreNormalised) {
  EXPECT_EQ(normal_axes({-1, 0}, 3), (std::vector<std::int64_t>{0, 2}));
  EXPECT_THROW(normal_axes({0, -3}, 3), Error);
  EXPECT_THROW(normal_axis(3, 3), Error);
  EXPECT_THROW(normal_axis(std::numeric_limits<std::int64_t>::min(), 3), Error);
}

TEST(OpsMathAxes, ReduceFollowsAPermutation) {
  const Reduce op(ReduceFn::Sum, {1});
  const Fact x = Fact::tensor(DType::F32, {2, 3, 4});
  const Fact* in[] = {&x};
  const auto out = op.infer(in);
  const auto change = op.change_axes(in, out, {0, 2, 1});
  ASSERT_TRUE(change);
  ASSERT_TRUE(change->op->as<Reduce>());
  EXPECT_EQ(change->op->as<Reduce>()->axes, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(*change->inputs[0], (Perm{0, 2, 1}));
}

}  // namespace
}  // namespace treadle::ops
