#include <cmath>
#include <limits>

#include "ops/attention.hpp"
#include "ops_nn_util.hpp"

namespace treadle {
namespace {

using ops::Attention;
using namespace test;
using Doubles = std::vector<double>;

// One head of size 1: the scores are q·k.
TEST(Attention, SoftmaxOfScores) {
  const Tensor q = Tensor::of<float>({1, 1, 1, 1}, {1}),
               k = Tensor::of<float>({1, 1, 2, 1}, {0, 2});
  const Tensor v = Tensor::of<float>({1, 1, 2, 2}, {1, 10, 3, 30});
  Attention a;
  a.scale = .5;
  const double p = std::exp(1) / (1 + std::exp(1));
  expect_near(evaluate(a, {q, k, v})[0], {1 + 2 * p, 10 + 20 * p});
  a.softcap = .5;
  const double s = std::exp(.5 * std::tanh(1 / .5));
  expect_near(evaluate(a, {q, k, v})[0], {1 + 2 * s / (1 + s), 10 + 20 * s / (1 + s)});
}

// Equal scores: the mean of the keys that may be read.
TEST(Attention, WindowsAndOffset) {
  const Tensor q = filled({1, 1, 3, 1}, 0), k = filled({1, 1, 5, 1}, 1);
  const Tensor v = Tensor::of<float>({1, 1, 5, 1}, {1, 2, 4, 8, 16});
  Attention a;
  a.right = 0;
  expect_near(evaluate(a, {q, k, v})[0], {1, 1.5, 7.0 / 3});
  a.offset = 2;
  expect_near(evaluate(a, {q, k, v})[0], {7.0 / 3, 15.0 / 4, 31.0 / 5});
  a.left = 1;
  expect_near(evaluate(a, {q, k, v})[0], {3, 6, 12});
  a.offset = -1;
  expect_near(evaluate(a, {q, k, v})[0], {0, 1, 1.5});  // the first query may read nothing
  a.left = 0;
  a.right = 1;
  a.offset = 3;
  expect_near(evaluate(a, {q, k, v})[0], {12, 16, 0});
}

TEST(Attention, MaskAndGroupedHeads) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor q = filled({1, 4, 1, 1}, 0), k = filled({1, 2, 2, 1}, 1);
  const Tensor v = Tensor::of<float>({1, 2, 2, 1}, {1, 3, 10, 30});
  Attention a;
  expect_near(evaluate(a, {q, k, v})[0], {2, 2, 20, 20});
  const Tensor mask = Tensor::of<float>({1, 4, 1, 2}, {0, -inf, -inf, 0, -inf, -inf, 0, 0});
  expect_near(evaluate(a, {q, k, v, mask})[0], {1, 3, 0, 20});
  expect_near(evaluate(a, {q, k, v, Tensor::of<float>({1, 1, 1, 2}, {-inf, 0})})[0],
              {3, 3, 30, 30});
}

TEST(Attention, Errors) {
  const Tensor q = filled({1, 4, 1, 2}, 0), k = filled({1, 2, 2, 2}, 1),
               v = filled({1, 2, 2, 3}, 1);
  const Attention a;
  EXPECT_EQ(error_of(a, {q, k, v}), "");
  EXPECT_NE(error_of(a, {q, filled({1, 3, 2, 2}, 1), filled({1, 3, 2, 3}, 1)}), "");
  EXPECT_NE(error_of(a, {q, filled({1, 0, 2, 2}, 1), filled({1, 0, 2, 3}, 1)}), "");
  EXPECT_NE(error_of(a, {q, filled({1, 2, 2, 1}, 1), v}), "");
  EXPECT_NE(error_of(a, {q, k, filled({1, 2, 3, 3}, 1)}), "");
  EXPECT_NE(error_of(a, {q, k, v, filled({1, 4, 1, 3}, 1)}), "");
  EXPECT_NE(error_of(a, {q, k, v, filled({1, 2}, 1)}), "");
}

}  // namespace
}  // namespace treadle
