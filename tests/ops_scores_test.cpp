// Scores of classes, by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "graph/evaluate.hpp"
#include "ops/label_encoder.hpp"
#include "ops/one_versus_one.hpp"
#include "ops/score_transform.hpp"

namespace treadle::ops {
namespace {

using Numbers = std::vector<double>;

Numbers transformed(PostTransform post, std::initializer_list<double> row) {
  const Tensor x = Tensor::of<double>(Shape{1, static_cast<std::int64_t>(row.size())}, row);
  return evaluate(ScoreTransform(post), {x})[0].to_f64();
}

void expect_near(const Numbers& got, const Numbers& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << i;
}

TEST(OpsScores, Transforms) {
  EXPECT_EQ(transformed(PostTransform::None, {1, -2}), (Numbers{1, -2}));
  const double e = std::exp(1.0);
  expect_near(transformed(PostTransform::Softmax, {0, 1, 0}),
              {1 / (2 + e), e / (2 + e), 1 / (2 + e)}, 1e-15);
  expect_near(transformed(PostTransform::SoftmaxZero, {0, 3, 3}), {0, 0.5, 0.5}, 1e-15);
  EXPECT_EQ(transformed(PostTransform::SoftmaxZero, {0, 0}), (Numbers{0, 0}));
  expect_near(transformed(PostTransform::Logistic, {0, 1}), {0.5, e / (1 + e)}, 1e-15);
  // Quantiles of the normal distribution from tables.
  expect_near(transformed(PostTransform::Probit, {0.5, 0.975, 0.01, 0.8413447460685429}),
              {0, 1.959963984540054, -2.3263478740408408, 1}, 1e-12);
  const Numbers edges = transformed(PostTransform::Probit, {0, 1, 1.5, -0.1});
  EXPECT_EQ(edges[0], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(edges[1], std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(edges[2]) && std::isnan(edges[3]));
  EXPECT_EQ(evaluate(ScoreTransform(PostTransform::Softmax), {Tensor(DType::F32, Shape{3, 0})})[0]
                .shape(),
            (Shape{3, 0}));
}

// Classes of 2, 1 and 1 support vectors.
TEST(OpsScores, OneVersusOne) {
  const Tensor weights = Tensor::of<float>(Shape{2, 4}, {1, 2, -3, -4, 5, 6, -7, -8});
  const OneVersusOne op({2, 1, 1}, weights, {0.5, -100, 0});
  const Tensor k = Tensor::of<float>(Shape{2, 4}, {1, 1, 1, 1, 0, 0, 1, 0});
  const auto y = evaluate(op, {k});
  // 0 or 1: 1 + 2 − 3 + ½; 0 or 2: 5 + 6 − 4 − 100; 1 or 2: −7 − 8. Then −3 + ½, −100, −7.
  EXPECT_EQ(y[0].to_f64(), (Numbers{0.5, -93, -15, -2.5, -100, -7}));
  // Votes: 0, 2, 2. Then 1, 2, 2.
  EXPECT_EQ(y[1].to_i64(), (std::vector<std::int64_t>{2, 2}));
  EXPECT_THROW(OneVersusOne({2, 2}, weights, {0}), Error);
  EXPECT_THROW(OneVersusOne({4}, weights, {}), Error);
}

TEST(OpsScores, TheFirstOfEqualVotesWins) {
  const Tensor weights = Tensor::of<float>(Shape{2, 3}, {1, 1, 1, 1, 1, 1});
  // 0 loses to 1, 1 to 2, 2 to 0.
  const OneVersusOne op({1, 1, 1}, weights, {-9, 9, -9});
  EXPECT_EQ(evaluate(op, {Tensor::zeros(DType::F32, Shape{1, 3})})[1].to_i64(),
            std::vector<std::int64_t>{0});
}

// Of pairs that agree with probabilities p those come out, within what the iteration leaves.
TEST(OpsScores, PairwiseCoupling) {
  const Numbers p{0.5, 0.3, 0.2};
  const auto pair = [&](std::size_t i, std::size_t j) {
    return static_cast<float>(p[i] / (p[i] + p[j]));
  };
  const Tensor x = Tensor::of<float>(Shape{1, 3}, {pair(0, 1), pair(0, 2), pair(1, 2)});
  const Numbers got = evaluate(PairwiseCoupling(3), {x})[0].to_f64();
  expect_near(got, p, 5e-3);
  EXPECT_NEAR(got[0] + got[1] + got[2], 1, 1e-6);
  // Two classes: a pair is all there is.
  const Tensor two = Tensor::of<float>(Shape{1, 1}, {0.9f});
  expect_near(evaluate(PairwiseCoupling(2), {two})[0].to_f64(), {0.9, 0.1}, 2e-3);
  EXPECT_THROW(evaluate(PairwiseCoupling(4), {x}), Error);
}

TEST(OpsScores, LabelEncoderWithoutDefault) {
  const Tensor keys = Tensor::of<std::string>(Shape{2}, {"a", "b"});
  const Tensor values = Tensor::of<std::int64_t>(Shape{2}, {3, 4});
  const LabelEncoder op(keys, values, Tensor(DType::I64, Shape{0}));
  EXPECT_EQ(evaluate(op, {keys})[0].to_i64(), (std::vector<std::int64_t>{3, 4}));
  EXPECT_THROW(evaluate(op, {Tensor::of<std::string>(Shape{1}, {"c"})}), Error);
}

}  // namespace
}  // namespace treadle::ops
