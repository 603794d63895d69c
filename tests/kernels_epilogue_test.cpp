#include "kernels/epilogue.hpp"

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/gemm/driver.hpp"
#include "kernels_util.hpp"

namespace treadle::kernels {
namespace {

class EpilogueAct : public IsaTest {};

double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

struct Case {
  const char* name;
  Act act;
  float a;
  std::function<double(double)> exact;
  bool relative_to_x;  // the bound is of max(|y|, |x| / 4)
};

std::vector<Case> cases() {
  return {
      {"sigmoid", Act::Sigmoid, 0, [](double x) { return 1 / (1 + std::exp(-x)); }, false},
      {"tanh", Act::Tanh, 0, [](double x) { return std::tanh(x); }, false},
      {"elu", Act::Elu, 0.5f, [](double x) { return x < 0 ? 0.5 * std::expm1(x) : x; }, false},
      {"silu", Act::Silu, 0, [](double x) { return x / (1 + std::exp(-x)); }, true},
      {"gelu", Act::Gelu, 0, [](double x) { return x / 2 * std::erfc(-x * M_SQRT1_2); }, true},
      {"gelu_tanh", Act::Gelu, 1, gelu_tanh, true},
  };
}

double ulp_of(double y) {
  const float f = std::fabs(static_cast<float>(y));
  const float below = std::nextafter(f, 0.0f);
  return static_cast<double>(f) - static_cast<double>(below);
}

// Every 4099th float, and those around the places where the functions change their form.
std::vector<float> floats() {
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4099) {
    const float v = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isfinite(v)) x.push_back(v);
  }
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-110, 110), small(-6, 6);
  for (int i = 0; i < 200001; ++i) x.push_back(i % 2 == 0 ? uniform(random) : small(random));
  return x;
}

TEST_P(EpilogueAct, StaysWithinTheStatedErrorsOverAllFloats) {
  constexpr double kUlps = 4, kSmallest = std::numeric_limits<float>::min();
  const std::vector<float> x = floats();
  for (const Case& c : cases()) {
    std::vector<float> y = x;
    act_row(c.act, y.data(), static_cast<std::int64_t>(y.size()), c.a, 0);
    double worst = 0;
    float at = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double want = c.exact(x[i]);
      double bound = kUlps * ulp_of(want);
      if (c.relative_to_x) bound = std::max(bound, kUlps * ulp_of(x[i] / 4));
      // Far left silu and gelu are 0, whatever |x| allows.
      if (c.relative_to_x && x[i] < -120) bound = 0;
      const double error = std::fabs(y[i] - want) / std::max(bound, kSmallest);
      if (!(error <= worst)) worst = error, at = x[i];
    }
    EXPECT_LE(worst, 1.0) << c.name << " at " << at;
  }
}

TEST_P(EpilogueAct, InfinitiesAndNan) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const Case& c : cases()) {
    float v[] = {inf, std::numeric_limits<float>::quiet_NaN()};
    act_row(c.act, v, 2, c.a, 0);
    EXPECT_EQ(v[0], c.act == Act::Sigmoid || c.act == Act::Tanh ? 1.0f : inf) << c.name;
    EXPECT_TRUE(std::isnan(v[1])) << c.name;
  }
  float low[] = {-inf, -inf, -inf};
  act_row(Act::Sigmoid, low, 1, 0, 0);
  act_row(Act::Tanh, low + 1, 1, 0, 0);
  act_row(Act::Elu, low + 2, 1, 0.5f, 0);
  EXPECT_EQ(low[0], 0.0f);
  EXPECT_EQ(low[1], -1.0f);
  EXPECT_EQ(low[2], -0.5f);
}

// As many values as fill no vector, one or some, and none beyond them.
TEST_P(EpilogueAct, WritesTheGivenValuesOnly) {
  for (std::int64_t n = 0; n <= 40; ++n) {
    for (const Case& c : cases()) {
      std::vector<float> v(42, 0.75f);
      act_row(c.act, v.data(), n, c.a, 0);
      for (std::int64_t i = 0; i < 42; ++i) {
        const float got = v[static_cast<std::size_t>(i)];
        if (i < n) {
          EXPECT_NEAR(got, c.exact(0.75), 1e-6) << c.name;
        } else {
          EXPECT_EQ(got, 0.75f) << c.name << ", " << n << " values, wrote " << i;
        }
      }
    }
  }
}

// Short rows are joined, long ones are not; rows lie apart, and what is between them stays.
TEST_P(EpilogueAct, RowsOfEachWidthWithResidual) {
  std::mt19937 random(2);
  for (const std::int64_t n : {1, 2, 3, 7, 15, 16, 17, 40}) {
    for (const std::int64_t count : {0, 1, 5, 384}) {
      for (const bool before : {false, true}) {
        const std::int64_t first = 2, stride = first + n + 3;
        const std::vector<float> x = random_floats(random, count * stride),
                                 r = random_floats(random, count * stride);
        std::vector<float> y = x;
        std::vector<float*> rows;
        std::vector<const float*> residual;
        for (std::int64_t i = 0; i < count; ++i) {
          rows.push_back(y.data() + i * stride);
          residual.push_back(r.data() + i * stride);
        }
        Epilogue e;
        e.act = Act::Tanh;
        e.residual = r.data();
        e.residual_before_act = before;
        finish_rows(e, rows.data(), residual.data(), count, first, n);
        for (std::size_t i = 0; i < y.size(); ++i) {
          const auto column = static_cast<std::int64_t>(i) % stride;
          const bool inside = column >= first && column < first + n;
          const float want = inside ? std::tanh(x[i]) + (before ? 0.0f : r[i]) : x[i];
          ASSERT_NEAR(y[i], want, inside ? 1e-6 : 0)
              << n << " columns, " << count << " rows, " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, EpilogueAct, isas(), isa_name);

}  // namespace
}  // namespace treadle::kernels
