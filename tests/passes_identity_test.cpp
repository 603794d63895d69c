// Identities, folding and merging.
#include "ops/axis.hpp"
#include "ops/cast.hpp"
#include "ops/move.hpp"
#include "ops/shape_of.hpp"
#include "passes_util.hpp"

namespace treadle::passes_test {
namespace {

using ops::BinaryFn;
using ops::UnaryFn;

struct Built {
  Graph g;
  ValueId x;
};

Built start(const SymShape& shape = {2, 3, 4}) {
  Built b;
  b.x = source(b.g, "x", shape);
  return b;
}

SimplifyReport finish(Built& b, ValueId out) {
  b.g.set_outputs({out}, {"out"});
  return check_simplify(b.g);
}

ValueId scalar(Built& b, double v) {
  return ops::scalar_like(b.g, "c" + std::to_string(v), v, b.x);
}

TEST(BinaryIdentity, NeutralConstantsGo) {
  struct Case {
    BinaryFn fn;
    double c;
    bool left;
  };
  for (const Case& c :
       {Case{BinaryFn::Add, 0, false}, Case{BinaryFn::Add, 0, true}, Case{BinaryFn::Sub, 0, false},
        Case{BinaryFn::Mul, 1, false}, Case{BinaryFn::Mul, 1, true}, Case{BinaryFn::Div, 1, false},
        Case{BinaryFn::Pow, 1, false}}) {
    Built b = start();
    const ValueId k = scalar(b, c.c);
    const ValueId out =
        c.left ? ops::binary(b.g, "y", c.fn, k, b.x) : ops::binary(b.g, "y", c.fn, b.x, k);
    EXPECT_EQ(fired(finish(b, out), "remove_binary_identity"), 1) << name_of(c.fn);
    EXPECT_EQ(b.g.outputs()[0], b.x);
  }
}

TEST(BinaryIdentity, OtherConstantsStay) {
  for (const auto& [fn, c] : {std::pair(BinaryFn::Add, 1.0), std::pair(BinaryFn::Mul, 0.0),
                              std::pair(BinaryFn::Max, 0.0), std::pair(BinaryFn::Sub, 1.0)}) {
    Built b = start();
    EXPECT_EQ(
        fired(finish(b, ops::binary(b.g, "y", fn, b.x, scalar(b, c))), "remove_binary_identity"),
        0);
  }
  Built b = start();  // 0 − x
  EXPECT_EQ(fired(finish(b, ops::binary(b.g, "y", BinaryFn::Sub, scalar(b, 0), b.x)),
                  "remove_binary_identity"),
            0);
}

TEST(BinaryIdentity, StaysWhenTheConstantBroadcasts) {
  Built b = start({1, 3});
  const ValueId ones = b.g.add_constant("ones", Tensor::of<float>({2, 1}, {1, 1}));
  EXPECT_EQ(
      fired(finish(b, ops::binary(b.g, "y", BinaryFn::Mul, b.x, ones)), "remove_binary_identity"),
      0);
  EXPECT_EQ(count(b.g, "Binary"), 1);
}

TEST(MoveIdentity, OperatorsThatChangeNothingGo) {
  const auto check_gone = [](OperatorPtr op) {
    Built b = start();
    EXPECT_EQ(fired(finish(b, b.g.add1("y", op, {b.x})), "remove_move_identity"), 1) << op->name();
    EXPECT_EQ(b.g.outputs()[0], b.x) << op->name();
  };
  auto pad = std::make_shared<ops::Pad>();
  pad->before = pad->after = {0, 0, 0};
  check_gone(pad);
  check_gone(make_op<ops::Transpose>(Perm{0, 1, 2}));
  check_gone(make_op<ops::Reshape>(SymShape{2, 3, 4}));
  check_gone(make_op<ops::Expand>(SymShape{2, 3, 4}));
  check_gone(make_op<ops::Slice>(1, Dim(0), Dim(3)));
  check_gone(make_op<ops::Concat>(1));
  check_gone(make_op<ops::Tile>(SymShape{1, 1, 1}));
  check_gone(make_op<ops::Cast>(DType::F32));
}

TEST(MoveIdentity, OthersStay) {
  const auto check_stays = [](OperatorPtr op) {
    Built b = start({3, 3, 3});
    EXPECT_EQ(finish(b, b.g.add1("y", op, {b.x})).patches, 0) << op->name();
  };
  auto pad = std::make_shared<ops::Pad>();  // a shift
  pad->before = {1, 0, 0};
  pad->after = {-1, 0, 0};
  check_stays(pad);
  check_stays(make_op<ops::Transpose>(Perm{0, 2, 1}));
  check_stays(make_op<ops::Slice>(1, Dim(2), Dim(3), -1));
  check_stays(make_op<ops::Cast>(DType::F64));
}

TEST(MergeTransposes, TwoBecomeOneOrNone) {
  Built b = start();
  const ValueId y = ops::transpose(b.g, "y", b.x, {1, 2, 0});
  EXPECT_EQ(fired(finish(b, ops::transpose(b.g, "z", y, {1, 2, 0})), "merge_transposes"), 1);
  EXPECT_EQ(count(b.g, "Transpose"), 1);
  Built c = start();
  const ValueId u = ops::transpose(c.g, "y", c.x, {1, 2, 0});
  finish(c, ops::transpose(c.g, "z", u, {2, 0, 1}));
  EXPECT_EQ(c.g.outputs()[0], c.x);
}

TEST(MergeReshapes, ChainsBecomeOne) {
  Built b = start({Dim::symbol("N"), 3, 4});
  const Dim n = Dim::symbol("N");
  const ValueId y = ops::reshape(b.g, "y", b.x, {n, 12});
  const ValueId z = ops::unsqueeze(b.g, "z", y, {0});
  finish(b, ops::reshape(b.g, "w", z, {n, 4, 3}));
  EXPECT_EQ(count(b.g, "Reshape"), 1);
  EXPECT_EQ(count(b.g, "Unsqueeze"), 0);
}

TEST(ReshapeToSqueeze, OnlyWhereOnesComeOrGo) {
  Built b = start({2, 1, 3});
  finish(b, ops::reshape(b.g, "y", b.x, {2, 3}));
  EXPECT_EQ(count(b.g, "Squeeze"), 1);
  Built c = start({2, 3});
  finish(c, ops::reshape(c.g, "y", c.x, {1, 2, 1, 3}));
  EXPECT_EQ(count(c.g, "Unsqueeze"), 1);
  Built d = start({2, 3});
  EXPECT_EQ(finish(d, ops::reshape(d.g, "y", d.x, {3, 2})).patches, 0);
}

TEST(MergeUnary, PairsBecomeOne) {
  Built b = start();
  const ValueId y = ops::unary(b.g, "y", UnaryFn::Clip, b.x, -1, 1);
  finish(b, ops::unary(b.g, "z", UnaryFn::Clip, y, 0.5, 6));
  EXPECT_EQ(count(b.g, "Unary"), 1);
  Built c = start();  // disjoint ranges: always 3
  const ValueId v = ops::unary(c.g, "y", UnaryFn::Clip, c.x, -1, 1);
  finish(c, ops::unary(c.g, "z", UnaryFn::Clip, v, 3, 6));
  EXPECT_EQ(count(c.g, "Unary"), 1);
  Built d = start();
  finish(d, ops::unary(d.g, "z", UnaryFn::Neg, ops::unary(d.g, "y", UnaryFn::Neg, d.x)));
  EXPECT_EQ(d.g.outputs()[0], d.x);
  Built e = start();
  finish(e, ops::unary(e.g, "z", UnaryFn::Relu, ops::unary(e.g, "y", UnaryFn::Clip, e.x, -1, 1)));
  EXPECT_EQ(count(e.g, "Unary"), 1);
  Built f = start();
  EXPECT_EQ(finish(f, ops::unary(f.g, "z", UnaryFn::Exp, ops::unary(f.g, "y", UnaryFn::Exp, f.x)))
                .patches,
            0);
}

TEST(MergeCasts, ThroughAWiderTypeOnly) {
  Built b = start();
  finish(b, ops::cast(b.g, "z", ops::cast(b.g, "y", b.x, DType::F64), DType::F32));
  EXPECT_EQ(b.g.outputs()[0], b.x);
  Built c = start();
  finish(c, ops::cast(c.g, "z", ops::cast(c.g, "y", c.x, DType::F16), DType::F32));
  EXPECT_EQ(count(c.g, "Cast"), 2);
}

TEST(SliceOfConcat, WithinOnePartOnly) {
  for (const std::int64_t start_at : {3, 2}) {
    Built b = start({2, 3});
    const ValueId y = ops::unary(b.g, "y", UnaryFn::Exp, b.x);
    const ValueId both = b.g.add1("both", make_op<ops::Concat>(1), {b.x, y});
    const ValueId out = b.g.add1("part", make_op<ops::Slice>(1, Dim(start_at), Dim(2)), {both});
    EXPECT_EQ(fired(finish(b, out), "slice_of_concat"), start_at == 3 ? 1 : 0);
    EXPECT_EQ(count(b.g, "Concat"), start_at == 3 ? 0 : 1);
  }
}

TEST(GatherToSlice, ScalarsAndProgressionsOnly) {
  const auto gathered = [](const Tensor& indices) {
    Built b = start({2, 7});
    const ValueId i = b.g.add_constant("i", indices);
    finish(b, b.g.add1("y", make_op<ops::Gather>(1), {b.x, i}));
    return count(b.g, "Slice") == 1 && count(b.g, "Gather") == 0;
  };
  EXPECT_TRUE(gathered(Tensor::scalar<std::int64_t>(3)));
  EXPECT_TRUE(gathered(Tensor::scalar<std::int32_t>(-7)));
  EXPECT_TRUE(gathered(Tensor::of<std::int64_t>({3}, {1, 3, -2})));
  EXPECT_FALSE(gathered(Tensor::of<std::int64_t>({3}, {1, 3, 4})));
  EXPECT_FALSE(gathered(Tensor::of<std::int64_t>({2}, {3, 1})));
  EXPECT_FALSE(gathered(Tensor::of<std::int64_t>({1, 1}, {3})));
}

TEST(GatherToSlice, AnIndexOutOfRangeStays) {
  Built b = start({2, 7});
  const ValueId i = b.g.add_constant("i", Tensor::scalar<std::int64_t>(7));
  b.g.set_outputs({b.g.add1("y", make_op<ops::Gather>(1), {b.x, i})}, {"out"});
  EXPECT_EQ(simplify(b.g).patches, 0);
}

TEST(SliceOfSlice, StepsMultiply) {
  Built b = start({9});
  const ValueId y = b.g.add1("y", make_op<ops::Slice>(0, Dim(8), Dim(4), -2), {b.x});  // 8 6 4 2
  finish(b, b.g.add1("z", make_op<ops::Slice>(0, Dim(1), Dim(2), 2), {y}));            // 6 2
  EXPECT_EQ(count(b.g, "Slice"), 1);
}

TEST(ConcatOfConcat, OneWhenAxesAgree) {
  for (const std::int64_t axis : {1, 0}) {
    Built b = start({2, 3});
    const ValueId y = ops::unary(b.g, "y", UnaryFn::Exp, b.x);
    const ValueId inner = b.g.add1("inner", make_op<ops::Concat>(1), {b.x, y});
    finish(b, b.g.add1("outer", make_op<ops::Concat>(axis), {inner, inner}));
    EXPECT_EQ(count(b.g, "Concat"), 2);  // the inner one is used twice
    Built c = start({2, 3});
    const ValueId once = c.g.add1("inner", make_op<ops::Concat>(1), {c.x, c.x});
    const ValueId wide = c.g.add1("wide", make_op<ops::Expand>(SymShape{2, 6}),
                                  {c.g.add_constant("k", Tensor::of<float>({1, 1}, {2}))});
    finish(c, c.g.add1("outer", make_op<ops::Concat>(axis), {once, wide}));
    EXPECT_EQ(count(c.g, "Concat"), axis == 1 ? 1 : 2);
  }
}

TEST(ExpandIntoBinary, OnlyWhereTheOtherOperandHasTheSize) {
  Built b = start({2, 3});
  const ValueId small = source(b.g, "s", {1, 3});
  const ValueId wide = b.g.add1("wide", make_op<ops::Expand>(SymShape{2, 3}), {small});
  finish(b, ops::binary(b.g, "y", BinaryFn::Add, b.x, wide));
  EXPECT_EQ(count(b.g, "Expand"), 0);
  Built c = start({1, 3});
  const ValueId wider =
      c.g.add1("wide", make_op<ops::Expand>(SymShape{2, 3}), {source(c.g, "s", {1, 3})});
  finish(c, ops::binary(c.g, "y", BinaryFn::Add, c.x, wider));
  EXPECT_EQ(count(c.g, "Expand"), 1);
}

TEST(FoldConstants, WithinTheLimit) {
  for (const std::int64_t limit : {1 << 20, 0}) {
    Built b = start({3000});
    b.g.limits.fold_bytes = limit;
    const ValueId c = b.g.add_constant("c", random_f32(3, Shape({1})));
    const ValueId wide = b.g.add1("wide", make_op<ops::Expand>(SymShape{3000}), {c});
    const ValueId k = ops::unary(b.g, "k", UnaryFn::Exp, wide);
    b.g.set_outputs({b.x, k}, {"a", "b"});
    check_simplify(b.g);
    EXPECT_EQ(count(b.g, "Unary"), limit == 0 ? 1 : 0);
  }
}

TEST(FoldConstants, RandomOnesAndSourcesStay) {
  Built b = start();
  EXPECT_EQ(finish(b, ops::unary(b.g, "y", UnaryFn::Exp, b.x)).patches, 0);
}

TEST(FoldSymbolic, ShapeArithmeticBecomesAConstant) {
  Built b = start({Dim::symbol("N"), 3});
  const ValueId shape = b.g.add1("shape", make_op<ops::ShapeOf>(), {b.x});
  const ValueId two = b.g.add_constant("two", Tensor::of<std::int64_t>({1}, {2}));
  const SimplifyReport report = finish(b, ops::binary(b.g, "y", BinaryFn::Mul, shape, two));
  EXPECT_EQ(fired(report, "fold_symbolic"), 2);
  EXPECT_EQ(count(b.g, "Binary"), 0);
  EXPECT_EQ(count(b.g, "SymbolicConstant"), 1);
}

}  // namespace
}  // namespace treadle::passes_test
