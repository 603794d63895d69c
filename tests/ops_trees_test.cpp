// Decision trees worked out by hand, and trees that are none.
#include <gtest/gtest.h>

#include <limits>

#include "base/error.hpp"
#include "graph/evaluate.hpp"
#include "ops/tree_ensemble.hpp"

namespace treadle::ops {
namespace {

// x0 <= 1 ? (x1 < 0 ? leaf 0 : leaf 1) : leaf 2
Trees two_tests() {
  Trees t;
  t.nodes = {{1.0, 0, 1, ~2, TreeTest::LessEqual, 0, 0}, {0.0, 1, ~0, ~1, TreeTest::Less, 1, 0}};
  t.roots = {0};
  t.leaf_starts = {0, 1, 2, 4};
  t.votes = {{10, 0}, {20, 0}, {30, 0}, {5, 1}};
  t.targets = 2;
  t.base = {0.5, 1};
  return t;
}

TEST(OpsTrees, Votes) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::of<float>(Shape{4, 2}, {1, -1, 1, 0, 2, 0, 0, kNaN});
  const Tensor y = evaluate(TreeEnsemble(two_tests(), DType::F32), {x})[0];
  EXPECT_EQ(y.shape(), (Shape{4, 2}));
  EXPECT_EQ(y.to_f64(), (std::vector<double>{10.5, 1, 20.5, 1, 30.5, 6, 10.5, 1}));
}

TEST(OpsTrees, TooFewFeatures) {
  const Tensor x = Tensor::of<float>(Shape{1, 1}, {0});
  EXPECT_THROW(evaluate(TreeEnsemble(two_tests(), DType::F32), {x}), Error);
}

TEST(OpsTrees, NoTrees) {
  const auto refused = [](auto change) {
    Trees t = two_tests();
    change(t);
    EXPECT_THROW(TreeEnsemble(t, DType::F32), Error);
  };
  refused([](Trees& t) { t.nodes[1].yes = 0; });   // a circle
  refused([](Trees& t) { t.nodes[1].no = 1; });    // of one
  refused([](Trees& t) { t.nodes[0].no = 1; });    // two parents
  refused([](Trees& t) { t.nodes[0].yes = ~0; });  // node 1 is lost
  refused([](Trees& t) { t.nodes[0].yes = 2; });   // no such node
  refused([](Trees& t) { t.nodes[0].no = ~3; });   // no such leaf
  refused([](Trees& t) { t.nodes[0].feature = -1; });
  refused([](Trees& t) { t.nodes[0].test = TreeTest::Member; });
  refused([](Trees& t) { t.votes[0].target = 2; });
  refused([](Trees& t) { t.base = {1}; });
}

}  // namespace
}  // namespace treadle::ops
