#include "ops/axis.hpp"
#include "ops/dynamic_shape.hpp"
#include "ops/shape_of.hpp"
#include "ops/symbolic_constant.hpp"
#include "ops_move_util.hpp"

namespace treadle::test {
namespace {

using ops::reshape_target;

Ints target_of(const SymShape& in, const std::vector<Dim>& target, bool allow_zero = false) {
  const Shape s = concrete(reshape_target(in, target, allow_zero));
  return {s.begin(), s.end()};
}

// Case H05.
TEST(ReshapeTarget, PlaceholdersAndErrors) {
  const SymShape in{2, 3, 4};
  EXPECT_EQ(target_of(in, {0, -1}), (Ints{2, 12}));
  EXPECT_EQ(target_of(in, {-1, 0}), (Ints{8, 3}));
  for (const std::vector<Dim>& bad :
       {std::vector<Dim>{5, -1}, std::vector<Dim>{-1, -1}, std::vector<Dim>{4, 3, 2, 0}}) {
    const std::string text = error_of([&] { reshape_target(in, bad, false); });
    EXPECT_TRUE(contains(text, "target")) << text;
    EXPECT_TRUE(contains(text, str(bad))) << text;
  }
  EXPECT_EQ(target_of({0, 3}, {3, 0}, true), (Ints{3, 0}));
  error_of([&] { reshape_target({0, 4}, {0, -1}, true); });
}

TEST(ReshapeTarget, KeepsSymbols) {
  const Dim n = Dim::symbol("N");
  EXPECT_EQ(reshape_target({n, 3, 4}, {0, -1}, false), (SymShape{n, 12}));
  EXPECT_EQ(reshape_target({n, 3, 4}, {-1, 12}, false), (SymShape{n, 12}));
  EXPECT_EQ(reshape_target({n, 3, 4}, {-1, 4}, false), (SymShape{n * 3, 4}));
}

TEST(DynamicReshape, ResolvesItsTargetAtRunTime) {
  const ops::DynamicReshape op({Dim::symbol("a"), Dim::symbol("b")}, false);
  const Tensor y = run(op, {counting({2, 3, 4}), ints({2}, {0, -1})});
  EXPECT_EQ(dims(y), (Ints{2, 12}));
  const std::string text = error_of([&] { run(op, {counting({2, 3, 4}), ints({2}, {5, -1})}); });
  EXPECT_TRUE(contains(text, "target [5, -1]")) << text;
}

TEST(Transpose, ThreeAxes) {
  const Tensor y = run(ops::Transpose({2, 0, 1}), {counting({2, 2, 2})});
  EXPECT_EQ(values(y), (Floats{0, 2, 4, 6, 1, 3, 5, 7}));
}

TEST(Transpose, Strings) {
  const Tensor x = Tensor::of<std::string>({2, 2}, {"a", "b", "c", "d"});
  const Tensor y = run(ops::Transpose({1, 0}), {x});
  EXPECT_TRUE(y.identical(Tensor::of<std::string>({2, 2}, {"a", "c", "b", "d"})));
}

TEST(Transpose, RejectsRepeatedAxis) {
  error_of([&] { run(ops::Transpose({0, 0}), {counting({2, 2})}); });
}

TEST(Expand, RepeatsSizeOne) {
  const Tensor y = run(ops::Expand({2, 3}), {floats({2, 1}, {1, 2})});
  EXPECT_EQ(values(y), (Floats{1, 1, 1, 2, 2, 2}));
  error_of([&] { run(ops::Expand({2, 4}), {counting({2, 3})}); });
}

TEST(DynamicExpand, Broadcasts) {
  const ops::DynamicExpand op({Dim::symbol("a"), Dim::symbol("b")});
  const Tensor y = run(op, {floats({2}, {1, 2}), ints({2}, {2, 1})});
  EXPECT_EQ(values(y), (Floats{1, 2, 1, 2}));
}

// Moving a transpose through must not change the result.
void expect_same_after(const Operator& op, const Tensor& x, const Perm& perm) {
  const Fact in = Fact::tensor(x.dtype(), to_sym(x.shape()));
  const Fact* inputs[] = {&in};
  const auto out = op.infer(inputs);
  const auto change = op.change_axes(inputs, out, perm);
  ASSERT_TRUE(change.has_value());
  const Tensor moved_input = run(ops::Transpose(*change->inputs[0]), {x});
  const Tensor direct = run(ops::Transpose(perm), {run(op, {x})});
  EXPECT_TRUE(run(*change->op, {moved_input}).identical(direct));
}

TEST(ChangeAxes, SqueezeUnsqueezeExpand) {
  expect_same_after(ops::Squeeze({1}), counting({2, 1, 3, 4}), {2, 0, 1});
  expect_same_after(ops::Unsqueeze({1, 3}), counting({2, 3}), {3, 2, 0, 1});
  expect_same_after(ops::Expand({2, 5, 3}), counting({2, 1, 3}), {1, 2, 0});
}

TEST(ShapeOf, IsSymbolic) {
  const Dim n = Dim::symbol("N");
  const Fact x = Fact::tensor(DType::F32, {n, 3});
  const Fact* in[] = {&x};
  const auto out = ops::ShapeOf().infer(in);
  ASSERT_TRUE(out[0].dims);
  EXPECT_EQ(*out[0].dims, (SymShape{n, 3}));
  // Movement keeps it so.
  const Fact* shape[] = {&out[0]};
  const auto moved = ops::Unsqueeze({0}).infer(shape);
  ASSERT_TRUE(moved[0].dims);
  EXPECT_EQ(*moved[0].dims, (SymShape{n, 3}));
  const auto size = ops::SizeOf().infer(in);
  EXPECT_EQ(*size[0].dims, (SymShape{n * 3}));
}

TEST(SymbolicConstant, EvaluatesItsElements) {
  const Dim n = Dim::symbol("N");
  const ops::SymbolicConstant op({n, n * 2 + 1}, DType::I32, {2});
  const auto out = evaluate(op, std::span<const Value* const>{}, {{"N", 5}});
  EXPECT_EQ(out[0].tensor().to_i64(), (Ints{5, 11}));
}

}  // namespace
}  // namespace treadle::test
