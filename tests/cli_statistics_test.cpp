#include "cli/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "report_util.hpp"

namespace treadle::cli::statistics {
namespace {

using Values = std::vector<double>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

Values normal(std::size_t n, std::uint64_t seed) {
  Noise noise(seed);
  Values out(n);
  for (double& v : out) v = noise.normal();
  return out;
}

double scatter(const Values& values) {
  return scatter_of_steps(values).value_or(-1);
}

// The mean of what `scatter` tells of many series.
template <typename Change>
double mean_scatter(std::size_t n, Change change) {
  constexpr int kSeries = 400;
  double sum = 0;
  for (int s = 0; s < kSeries; ++s) {
    Values values = normal(n, static_cast<std::uint64_t>(s));
    change(values);
    sum += scatter(values);
  }
  return sum / kSeries;
}

TEST(Statistics, QuantilesOfLittle) {
  EXPECT_FALSE(median({}));
  EXPECT_FALSE(median(Values{kNan, kInfinite}));
  EXPECT_EQ(*median(Values{3}), 3);
  EXPECT_EQ(*median(Values{4, kNan, 1}), 2.5);
  EXPECT_EQ(*median(Values{9, 1, 5}), 5);
  EXPECT_EQ(*quantile(Values{0, 10}, 0.25), 2.5);
  EXPECT_EQ(*quantile(Values{0, 10}, 2), 10);
}

TEST(Statistics, OnlyPositiveValuesHaveLogarithms) {
  EXPECT_EQ(logarithms(Values{-1, 0, kNan, kInfinite, 1}), Values{0});
  EXPECT_TRUE(logarithms({}).empty());
}

TEST(Statistics, ScatterNeedsFiveValues) {
  EXPECT_FALSE(scatter_of_steps({}));
  EXPECT_FALSE(scatter_of_steps(Values{1}));
  EXPECT_FALSE(scatter_of_steps(Values{1, 2, 3, 4}));
  EXPECT_FALSE(scatter_of_steps(Values{1, 2, 3, kNan, 4}));
  EXPECT_TRUE(scatter_of_steps(Values{1, 2, 3, 4, 5}));
}

TEST(Statistics, ScatterIsThatOfTheStepFromOneValueToTheNext) {
  const double step = std::sqrt(2.0);
  EXPECT_EQ(scatter(Values(20, 7.0)), 0);
  EXPECT_NEAR(mean_scatter(200, [](Values&) {}), step, 0.15);
  // Short series are widened rather than trusted.
  EXPECT_GT(mean_scatter(5, [](Values&) {}), step);
  EXPECT_LT(mean_scatter(5, [](Values&) {}), 2 * step);
}

TEST(Statistics, ADriftIsTakenOff) {
  EXPECT_NEAR(scatter(Values{1, 2, 3, 4, 5, 6, 7, 8}), 0, 1e-12);
  const auto drift = [](Values& v) {
    for (std::size_t i = 0; i < v.size(); ++i) v[i] += 3 * static_cast<double>(i);
  };
  EXPECT_NEAR(mean_scatter(30, drift), mean_scatter(30, [](Values&) {}), 0.05);
}

TEST(Statistics, LastingStepsHardlyCount) {
  const auto steps = [](Values& v) {
    for (std::size_t i = 10; i < v.size(); ++i) v[i] += i < 20 ? 50 : -50;
  };
  EXPECT_LT(mean_scatter(30, steps), 1.3 * mean_scatter(30, [](Values&) {}));
}

TEST(Statistics, AFewOutliersHardlyCount) {
  const auto outlier = [](Values& v) { v[7] += 100; };
  EXPECT_LT(mean_scatter(30, outlier), 1.5 * mean_scatter(30, [](Values&) {}));
}

TEST(Statistics, TwoLevelsCountInFull) {
  Noise noise(3);
  for (const double part : {0.5, 0.3, 0.2}) {
    int told = 0;
    for (int s = 0; s < 100; ++s) {
      Values v = normal(30, 1000 + static_cast<std::uint64_t>(s));
      for (double& x : v) x = 0.3 * x + (noise.uniform() < part ? 5 : 0);
      told += 3 * scatter(v) > 5 ? 1 : 0;
    }
    EXPECT_GE(told, 97) << part;
  }
}

// How often a step of pure noise exceeds three times the scatter that the history tells.
double false_alarms(std::size_t history) {
  constexpr int kTries = 4000;
  int alarms = 0;
  for (int i = 0; i < kTries; ++i) {
    const Values v = normal(history + 2, 77 + static_cast<std::uint64_t>(i));
    const Values past(v.begin(), v.end() - 2);
    alarms += v[history + 1] - v[history] > 3 * scatter(past) ? 1 : 0;
  }
  return alarms / static_cast<double>(kTries);
}

TEST(Statistics, FalseAlarmsAreRareForAnyLengthOfHistory) {
  EXPECT_LT(false_alarms(5), 0.02);
  EXPECT_LT(false_alarms(10), 0.01);
  EXPECT_LT(false_alarms(30), 0.005);
}

TEST(Statistics, PooledDeviation) {
  EXPECT_FALSE(pooled_deviation(Values{1}, Values{1, 2}));
  EXPECT_FALSE(pooled_deviation({}, {}));
  EXPECT_EQ(*pooled_deviation(Values{5, 5}, Values{9, 9}), 0);
  EXPECT_NEAR(*pooled_deviation(normal(500, 1), normal(500, 2)), 1, 0.05);
}

TEST(Statistics, Separated) {
  EXPECT_TRUE(separated(Values{1, 2}, Values{3, 4}));
  EXPECT_TRUE(separated(Values{3, kNan}, Values{2, 1}));
  EXPECT_FALSE(separated(Values{1, 3}, Values{2, 4}));
  EXPECT_FALSE(separated(Values{1, 2}, Values{2, 3}));
  EXPECT_FALSE(separated({}, Values{2}));
}

TEST(Statistics, PartOfPairs) {
  const auto below = [](double a, double b) { return a < b; };
  EXPECT_EQ(part_of_pairs(Values{1, 2}, Values{2, 3}, below), 0.75);
  EXPECT_EQ(part_of_pairs({}, Values{2, 3}, below), 0);
  EXPECT_EQ(part_of_pairs(Values{kNan}, Values{2}, below), 0);
}

}  // namespace
}  // namespace treadle::cli::statistics
