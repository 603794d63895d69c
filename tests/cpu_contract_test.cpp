// Contract lowered to matrix products, against its plain evaluation.
#include <gtest/gtest.h>

#include <cmath>

#include "cpu/lower.hpp"
#include "graph/evaluate.hpp"
#include "ops/contract.hpp"
#include "plan/session.hpp"

namespace treadle {
namespace {

Tensor pattern(const Shape& shape, int seed) {
  Tensor t(DType::F32, shape);
  int i = seed;
  for (float& v : t.mutable_span<float>()) v = std::sin(static_cast<float>(i++) * 0.7f);
  return t;
}

// x has symbolic sizes, w is a constant; runs the session with each size of x.
void check_contract(const std::string& left, const std::string& right, const std::string& out,
                    bool constant_first, const Shape& w_shape, const std::vector<Shape>& sizes) {
  const Tensor w = pattern(w_shape, 3);
  Graph g;
  SymShape x_shape;
  const std::string& letters = constant_first ? right : left;
  const std::string& own = constant_first ? left : right;
  for (char c : letters) {
    const auto at = own.find(c);
    const bool summed = out.find(c) == std::string::npos;
    x_shape.push_back(summed && at != std::string::npos ? Dim(w_shape[at])
                                                        : g.named_symbol(std::string("size_") + c));
  }
  const ValueId x = g.add_source("x", Fact::tensor(DType::F32, x_shape));
  const ValueId c = g.add_constant("w", w);
  const std::vector<ValueId> in = constant_first ? std::vector{c, x} : std::vector{x, c};
  const ValueId y =
      g.add1("y", make_op<ops::Contract>(std::vector<std::string>{left, right}, out), in);
  g.set_outputs({y}, {"y"});
  const auto program = cpu::lower(g, {});
  Session session(program);
  for (const Shape& size : sizes) {
    const std::vector<Value> inputs{Value(pattern(size, 11))};
    const auto error = session.run(inputs);
    ASSERT_FALSE(error.has_value()) << error->what();
    const Tensor expected = evaluate(g, inputs).front().tensor();
    const Tensor got = session.output(0).tensor();
    ASSERT_EQ(got.shape(), expected.shape());
    for (std::size_t i = 0; i < static_cast<std::size_t>(got.elements()); ++i) {
      EXPECT_NEAR(got.span<float>()[i], expected.span<float>()[i], 1e-4)
          << left << "," << right << "->" << out;
    }
  }
}

TEST(Contract, RowsThatDoNotMergeLoopOverOnePackedConstant) {
  check_contract("amk", "kn", "man", false, {8, 3}, {{5, 7, 8}, {1, 1, 8}, {2, 9, 8}, {30, 4, 8}});
}

TEST(Contract, RowsThatMerge) {
  check_contract("amk", "kn", "amn", false, {6, 5}, {{3, 4, 6}, {1, 1, 6}, {0, 2, 6}});
}

TEST(Contract, ConstantFirst) {
  check_contract("nk", "mk", "mn", true, {5, 7}, {{4, 7}, {1, 7}});
}

TEST(Contract, TwoColumnLettersOfTheConstant) {
  check_contract("mk", "hkn", "mhn", false, {3, 6, 4}, {{5, 6}, {1, 6}});
}

TEST(Contract, ColumnsOnBothSidesOfTheRows) {
  check_contract("mk", "hkn", "hmn", false, {3, 6, 4}, {{5, 6}, {1, 6}, {2, 6}});
}

}  // namespace
}  // namespace treadle
