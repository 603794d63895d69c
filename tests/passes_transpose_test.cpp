// Transposes move towards the outputs and cancel; convolutions become channels-last.
#include "ops/contract.hpp"
#include "ops/conv.hpp"
#include "ops/move.hpp"
#include "ops/pool.hpp"
#include "passes_util.hpp"

namespace treadle::passes_test {
namespace {

using ops::BinaryFn;
using ops::ReduceFn;
using ops::UnaryFn;

const Perm kToLast = {0, 2, 3, 1}, kToFirst = {0, 3, 1, 2};

ValueId conv(Graph& g, const std::string& name, ValueId x, std::int64_t out, std::int64_t k,
             std::int64_t group = 1) {
  auto op = std::make_shared<ops::Conv>();
  op->strides = op->dilations = {1, 1};
  op->padding.before = op->padding.after = {k / 2, k / 2};
  op->group = group;
  const std::int64_t in = g.fact(x).shape[1].value();
  const ValueId w = g.add_constant(name + ".w", random_f32(7, Shape({out, in / group, k, k})));
  return g.add1(name, op, {x, w});
}

TEST(SinkTranspose, ThroughElementwiseConcatAndReduce) {
  Graph g;
  const ValueId x = source(g, "x", {2, 3, 4, 5});
  const ValueId t = ops::transpose(g, "t", x, kToLast);
  ValueId v = ops::unary(g, "u", UnaryFn::Sigmoid, t);
  v = ops::binary(g, "b", BinaryFn::Add, v, g.add_constant("c", random_f32(2, {1, 1, 1, 3})));
  v = g.add1("cat", make_op<ops::Concat>(3), {v, v});
  v = ops::reduce(g, "r", ReduceFn::Mean, v, {1}, true);
  g.set_outputs({ops::transpose(g, "back", v, kToFirst)}, {"out"});
  check_simplify(g);
  EXPECT_EQ(count(g, "Transpose"), 0);
}

TEST(SinkTranspose, StopsAtAnOperandThatIsNotTransposed) {
  Graph g;
  const ValueId x = source(g, "x", {2, 3, 4}), y = source(g, "y", {4, 3, 2});
  const ValueId t = ops::transpose(g, "t", x, {2, 1, 0});
  g.set_outputs({ops::binary(g, "b", BinaryFn::Add, t, y)}, {"out"});
  EXPECT_EQ(check_simplify(g).patches, 0);
}

TEST(SinkTranspose, NotWhenAnotherUseNeedsIt) {
  Graph g;
  const ValueId x = source(g, "x", {2, 3, 4});
  const ValueId t = ops::transpose(g, "t", x, {2, 1, 0});
  g.set_outputs({ops::unary(g, "u", UnaryFn::Exp, t), t}, {"a", "b"});
  EXPECT_EQ(check_simplify(g).patches, 0);
}

TEST(SinkTranspose, ThroughSqueezeUnsqueezeAndReshape) {
  Graph g;
  const ValueId x = source(g, "x", {1, 6, 4, 5});
  ValueId v = ops::transpose(g, "t", x, kToLast);     // 1 4 5 6
  v = ops::unsqueeze(g, "un", v, {2});                // 1 4 1 5 6
  v = ops::squeeze(g, "sq", v, {0});                  // 4 1 5 6
  v = ops::reshape(g, "split", v, {4, 1, 5, 2, 3});   // channels split
  v = ops::transpose(g, "back", v, {3, 4, 0, 1, 2});  // 2 3 4 1 5
  g.set_outputs({v}, {"out"});
  check_simplify(g);
  EXPECT_EQ(count(g, "Transpose"), 0);
}

TEST(TransposeContract, SubscriptsChangeOnEverySide) {
  Graph g;
  const ValueId x = source(g, "x", {2, 5, 3, 4}), y = source(g, "y", {2, 5, 3, 4});
  const ValueId q = ops::transpose(g, "q", x, {0, 2, 1, 3});
  const ValueId k = ops::transpose(g, "k", y, {0, 2, 3, 1});
  const ValueId s = ops::matmul(g, "s", q, k);
  g.set_outputs({ops::transpose(g, "o", s, {0, 2, 1, 3})}, {"out"});
  check_simplify(g);
  EXPECT_EQ(count(g, "Transpose"), 0);
  EXPECT_EQ(count(g, "Contract"), 1);
}

TEST(TransposeContract, ASharedResultStays) {
  Graph g;
  const ValueId x = source(g, "x", {2, 3}), y = source(g, "y", {3, 4});
  const ValueId s = ops::matmul(g, "s", x, y);
  g.set_outputs({ops::transpose(g, "o", s, {1, 0}), s}, {"t", "raw"});
  EXPECT_EQ(check_simplify(g).patches, 0);
}

TEST(TransposeToReshape, WhenOnlyOnesMove) {
  Graph g;
  const ValueId x = source(g, "x", {2, 3, 1, 1});
  g.set_outputs({ops::transpose(g, "t", x, kToLast)}, {"out"});
  EXPECT_EQ(fired(check_simplify(g), "transpose_to_reshape"), 1);
  EXPECT_EQ(count(g, "Transpose"), 0);
}

SimplifyOptions last() {
  SimplifyOptions o;
  o.channels_last = true;
  return o;
}

// Input and output borders only.
TEST(ChannelsLast, AResidualBlockKeepsTwoTransposes) {
  Graph g;
  const ValueId x = source(g, "x", {1, 4, 5, 6});
  const ValueId a = ops::unary(g, "ra", UnaryFn::Relu, conv(g, "a", x, 4, 3));
  const ValueId b = ops::unary(g, "rb", UnaryFn::Relu, conv(g, "b", a, 4, 3, 4));
  const ValueId c = conv(g, "c", b, 4, 1);
  const ValueId sum = ops::binary(g, "sum", BinaryFn::Add, a, c);
  g.set_outputs({ops::unary(g, "rs", UnaryFn::Relu, sum)}, {"out"});
  check_simplify(g, last());
  EXPECT_EQ(count(g, "Transpose"), 2);
}

TEST(ChannelsLast, SqueezeAndExciteCancels) {
  Graph g;
  const ValueId x = source(g, "x", {Dim::symbol("N"), 4, 5, 6});
  const ValueId a = ops::unary(g, "sa", UnaryFn::HardSwish, conv(g, "a", x, 8, 3));
  ValueId s = ops::reduce(g, "pool", ReduceFn::Mean, a, {2, 3}, true);
  s = ops::unary(g, "r", UnaryFn::Relu, conv(g, "down", s, 2, 1));
  s = ops::unary(g, "h", UnaryFn::HardSigmoid, conv(g, "up", s, 8, 1), 0.2, 0.5);
  const ValueId y = conv(g, "b", ops::binary(g, "gate", BinaryFn::Mul, a, s), 4, 1);
  const ValueId pooled = ops::reduce(g, "gap", ReduceFn::Mean, y, {2, 3}, true);
  g.set_outputs({ops::reshape(g, "flat", pooled, {Dim::symbol("N"), 4})}, {"out"});
  check_simplify(g, last());
  EXPECT_EQ(count(g, "Transpose"), 1);
  EXPECT_LE(count(g, "Reshape") + count(g, "Squeeze"), 1) << print(g);
}

TEST(ChannelsLast, ChannelShuffleAndPixelShuffle) {
  Graph g;
  const ValueId x = source(g, "x", {1, 4, 5, 6});
  ValueId v = conv(g, "a", x, 8, 1);
  v = ops::reshape(g, "split", v, {1, 2, 4, 5, 6});
  v = ops::transpose(g, "swap", v, {0, 2, 1, 3, 4});
  v = ops::reshape(g, "join", v, {1, 8, 5, 6});
  v = conv(g, "b", v, 8, 3, 8);
  v = ops::reshape(g, "px", v, {1, 2, 2, 2, 5, 6});
  v = ops::transpose(g, "pt", v, {0, 1, 4, 2, 5, 3});
  v = ops::reshape(g, "py", v, {1, 2, 10, 12});
  v = conv(g, "c", v, 3, 3);
  g.set_outputs({v}, {"out"});
  check_simplify(g, last());
  EXPECT_LE(count(g, "Transpose"), 4) << print(g);
}

TEST(ChannelsLast, PoolsWithIndicesStay) {
  Graph g;
  auto op = std::make_shared<ops::Pool>();
  op->kernel = {2, 2};
  op->strides = op->dilations = {1, 1};
  op->padding.before = op->padding.after = {0, 0};
  op->with_indices = true;
  const auto out = g.add("pool", op, {source(g, "x", {1, 2, 4, 4})});
  g.set_outputs(out, {"values", "indices"});
  EXPECT_EQ(check_simplify(g, last()).patches, 0);
}

}  // namespace
}  // namespace treadle::passes_test
