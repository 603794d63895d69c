// The distributions of random operators: Kolmogorov–Smirnov and moments at the 0.1 % level. Seeds
// are fixed, so that a run gives what the last one gave.
#include <algorithm>
#include <cmath>

#include "ops/random.hpp"
#include "ops_move_util.hpp"

namespace treadle::test {
namespace {

using ops::Random;
using ops::RandomFn;

constexpr std::int64_t kCount = 200'000;

std::vector<double> drawn(RandomFn fn, DType type, std::uint64_t seed, double a, double b) {
  return run(Random(fn, type, {kCount}, seed, a, b), {}).to_f64();
}

// The largest distance between the sample's distribution and `cdf`, times √n.
template <typename F>
double distance(std::vector<double> sample, F&& cdf) {
  std::sort(sample.begin(), sample.end());
  const auto n = static_cast<double>(sample.size());
  double d = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double f = cdf(sample[i]), at = static_cast<double>(i);
    d = std::max({d, f - at / n, (at + 1) / n - f});
  }
  return d * std::sqrt(n);
}
constexpr double kRejected = 1.95;  // Kolmogorov's distribution is above it once in a thousand

double correlation(const std::vector<double>& v) {
  double mean = 0;
  for (const double x : v) mean += x / static_cast<double>(v.size());
  double with_next = 0, with_itself = 0;
  for (std::size_t i = 0; i + 1 < v.size(); ++i) {
    with_next += (v[i] - mean) * (v[i + 1] - mean);
    with_itself += (v[i] - mean) * (v[i] - mean);
  }
  return with_next / with_itself;
}

TEST(Random, NormalHasItsDistribution) {
  for (const std::uint64_t seed : {1u, 2u, 77u}) {
    const auto v = drawn(RandomFn::Normal, DType::F64, seed, 3, 0.5);
    const auto cdf = [](double x) { return 0.5 * std::erfc(-(x - 3) / (0.5 * std::sqrt(2.0))); };
    EXPECT_LT(distance(v, cdf), kRejected) << seed;
    EXPECT_LT(std::fabs(correlation(v)), 3.3 / std::sqrt(static_cast<double>(kCount))) << seed;
  }
}

TEST(Random, UniformHasItsDistributionAndBounds) {
  for (const std::uint64_t seed : {1u, 2u, 77u}) {
    const auto v = drawn(RandomFn::Uniform, DType::F64, seed, -2, 6);
    EXPECT_LT(distance(v, [](double x) { return (x + 2) / 8; }), kRejected) << seed;
    EXPECT_GE(*std::min_element(v.begin(), v.end()), -2);
    EXPECT_LT(*std::max_element(v.begin(), v.end()), 6);
    EXPECT_LT(std::fabs(correlation(v)), 3.3 / std::sqrt(static_cast<double>(kCount))) << seed;
  }
}

TEST(Random, SeedsGiveOtherElements) {
  const auto a = drawn(RandomFn::Uniform, DType::F32, 1, 0, 1);
  EXPECT_EQ(a, drawn(RandomFn::Uniform, DType::F32, 1, 0, 1));
  EXPECT_NE(a, drawn(RandomFn::Uniform, DType::F32, 2, 0, 1));
}

TEST(Random, BernoulliDrawsEachElementWithItsProbability) {
  Tensor p(DType::F32, {4, kCount});
  const float chances[] = {0, 0.1f, 0.7f, 1};
  const auto to = p.mutable_span<float>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = chances[i / kCount];
  const auto v = run(Random(RandomFn::Bernoulli, DType::I32, {}, 5), {p}).to_i64();
  for (std::size_t row = 0; row < 4; ++row) {
    double ones = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto x = v[row * kCount + i];
      ASSERT_TRUE(x == 0 || x == 1);
      ones += static_cast<double>(x);
    }
    const double chance = static_cast<double>(chances[row]);
    const double sigma = std::sqrt(kCount * chance * (1 - chance));
    EXPECT_LE(std::fabs(ones - kCount * chance), 3.3 * sigma) << chance;
  }
}

TEST(Random, MultinomialDrawsClassesWithTheirProbabilities) {
  // Unnormalised: e^1000 itself would overflow.
  const Tensor logits =
      Tensor::of<float>({1, 3}, {1000, 1000 + std::log(2.0f), 1000 + std::log(5.0f)});
  const auto v = run(Random(RandomFn::Multinomial, DType::I64, {1, kCount}, 9), {logits}).to_i64();
  std::vector<double> counts(3);
  for (const std::int64_t c : v) counts.at(static_cast<std::size_t>(c)) += 1;
  double chi2 = 0;
  const double shares[] = {1.0 / 8, 2.0 / 8, 5.0 / 8};
  for (std::size_t c = 0; c < 3; ++c) {
    const double expected = kCount * shares[c];
    chi2 += (counts[c] - expected) * (counts[c] - expected) / expected;
  }
  EXPECT_LT(chi2, 13.8);  // 0.1 % with two degrees of freedom
}

}  // namespace
}  // namespace treadle::test
