#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "kernels/math/rows.hpp"

namespace treadle::kernels {
namespace {

// The tables that this machine can run.
std::vector<const Rows*> tables() {
  std::vector<const Rows*> result;
  for (const Isa isa : {Isa::Generic, Isa::Avx2, Isa::Avx512}) {
    const bool runs = isa == Isa::Generic || isa == detected_isa() ||
                      (isa == Isa::Avx2 && detected_isa() == Isa::Avx512);
    if (runs && rows_for(isa)) result.push_back(rows_for(isa));
  }
  return result;
}

double ulp_of(double y) {
  const float f = std::fabs(static_cast<float>(y));
  const float next = std::nextafter(f, std::numeric_limits<float>::infinity());
  return std::max<double>(static_cast<double>(next) - f, std::numeric_limits<float>::min() * 1e-7);
}

struct Case {
  Fn1 fn;
  double low, high;
  std::function<double(double)> exact;
  double ulps;
  // The error may also be this many ulps of |x| / 4.
  bool relative_to_x = false;
  double absolute = 0;
  float a = 0, b = 0;
};

double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

std::vector<Case> cases() {
  return {
      {Fn1::Exp, -87, 88.7, [](double x) { return std::exp(x); }, 4},
      {Fn1::Log, 1e-38, 3e38, [](double x) { return std::log(x); }, 4},
      {Fn1::Log, 0.3, 3, [](double x) { return std::log(x); }, 4},
      {Fn1::Tanh, -12, 12, [](double x) { return std::tanh(x); }, 4},
      {Fn1::Tanh, -0.01, 0.01, [](double x) { return std::tanh(x); }, 4},
      {Fn1::Erf, -5, 5, [](double x) { return std::erf(x); }, 4},
      {Fn1::Sigmoid, -80, 80, [](double x) { return 1 / (1 + std::exp(-x)); }, 4},
      {Fn1::Elu, -30, 5, [](double x) { return x < 0 ? std::expm1(x) : x; }, 4, false, 0, 1},
      {Fn1::Elu, -0.01, 0.01, [](double x) { return x < 0 ? std::expm1(x) : x; }, 4, false, 0, 1},
      {Fn1::Softplus, -80, 80, [](double x) { return std::log1p(std::exp(x)); }, 4},
      {Fn1::Sin, -8192, 8192, [](double x) { return std::sin(x); }, 0, false, 2e-7},
      {Fn1::Cos, -8192, 8192, [](double x) { return std::cos(x); }, 0, false, 2e-7},
      {Fn1::Sin, -1e6, 1e6, [](double x) { return std::sin(x); }, 0, false, 2e-7},
      {Fn1::Gelu, -20, 20, [](double x) { return x / 2 * (1 + std::erf(x * M_SQRT1_2)); }, 4, true},
      {Fn1::GeluTanh, -20, 20, gelu_tanh, 4, true},
      {Fn1::Silu, -80, 80, [](double x) { return x / (1 + std::exp(-x)); }, 4, true, 0, 1},
      {Fn1::Mish, -80, 80, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }, 4,
       true},
      {Fn1::Softsign, -9, 9, [](double x) { return x / (1 + std::fabs(x)); }, 2},
      {Fn1::Rsqrt, 1e-30, 1e30, [](double x) { return 1 / std::sqrt(x); }, 2},
      {Fn1::HardSwish, -8, 8, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }, 4,
       true},
  };
}

TEST(MathRows, StaysWithinTheStatedErrors) {
  std::mt19937 random(1);
  for (const Rows* table : tables()) {
    for (const Case& c : cases()) {
      // Odd, so that the partial vector at the end is met too.
      std::vector<float> x(100003), y(x.size());
      const bool logarithmic = c.low > 0 && c.high / c.low > 100;
      std::uniform_real_distribution<double> uniform(logarithmic ? std::log(c.low) : c.low,
                                                     logarithmic ? std::log(c.high) : c.high);
      for (float& v : x) {
        v = static_cast<float>(logarithmic ? std::exp(uniform(random)) : uniform(random));
      }
      (*table)[c.fn](x.data(), y.data(), static_cast<std::int64_t>(x.size()), c.a, c.b);
      double worst = 0;
      float at = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double want = c.exact(x[i]);
        double bound = c.ulps * ulp_of(want) + c.absolute;
        if (c.relative_to_x) bound = std::max(bound, c.ulps * ulp_of(x[i] / 4));
        const double error = std::fabs(y[i] - want) / bound;
        if (!(error <= worst)) worst = error, at = x[i];
      }
      EXPECT_LE(worst, 1.0) << table->name << " function " << static_cast<int>(c.fn) << " at "
                            << at;
    }
  }
}

TEST(MathRows, SpecialValues) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  struct Special {
    Fn1 fn;
    float x, y;
  };
  const Special list[] = {
      {Fn1::Exp, -inf, 0},       {Fn1::Exp, inf, inf},
      {Fn1::Exp, 0, 1},          {Fn1::Exp, 89, inf},
      {Fn1::Exp, -200, 0},       {Fn1::Log, 0, -inf},
      {Fn1::Log, 1, 0},          {Fn1::Log, inf, inf},
      {Fn1::Log, -1, nan},       {Fn1::Tanh, inf, 1},
      {Fn1::Tanh, -inf, -1},     {Fn1::Tanh, -0.0f, -0.0f},
      {Fn1::Erf, inf, 1},        {Fn1::Erf, -inf, -1},
      {Fn1::Erf, -0.0f, -0.0f},  {Fn1::Sigmoid, inf, 1},
      {Fn1::Sigmoid, -inf, 0},   {Fn1::Relu, -inf, 0},
      {Fn1::Round, 0.5f, 0},     {Fn1::Round, 1.5f, 2},
      {Fn1::Round, -2.5f, -2},   {Fn1::Round, 8388609.0f, 8388609.0f},
      {Fn1::Floor, -0.5f, -1},   {Fn1::Floor, 2.9f, 2},
      {Fn1::Ceil, 2.1f, 3},      {Fn1::Ceil, -0.5f, -0.0f},
      {Fn1::Floor, inf, inf},    {Fn1::Sqrt, 9, 3},
      {Fn1::Sqrt, -1, nan},      {Fn1::Rsqrt, 0, inf},
      {Fn1::Sign, -3, -1},       {Fn1::Sign, 0, 0},
      {Fn1::Softplus, inf, inf}, {Fn1::Softplus, -inf, 0},
      {Fn1::Reciprocal, 0, inf}, {Fn1::Sin, inf, nan},
      {Fn1::Abs, -0.0f, 0},      {Fn1::Clip, 7, 6},
  };
  for (const Rows* table : tables()) {
    for (const Special& s : list) {
      float y[3];
      const float x[3] = {s.x, s.x, s.x};
      (*table)[s.fn](x, y, 3, 0.0f, 6.0f);
      if (std::isnan(s.y)) {
        EXPECT_TRUE(std::isnan(y[2])) << table->name << ' ' << static_cast<int>(s.fn) << ' ' << s.x;
      } else {
        EXPECT_EQ(y[2], s.y) << table->name << ' ' << static_cast<int>(s.fn) << ' ' << s.x;
        EXPECT_TRUE(s.y != 0 || std::signbit(y[2]) == std::signbit(s.y)) << static_cast<int>(s.fn);
      }
    }
  }
}

TEST(MathRows, NanPropagatesThroughEveryFunction) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Rows* table : tables()) {
    for (std::size_t f = 0; f < kFn1s; ++f) {
      std::vector<float> x(21, nan), y(21);
      table->unary[f](x.data(), y.data(), 21, 0.5f, 2.0f);
      for (const float v : y) EXPECT_TRUE(std::isnan(v)) << table->name << " function " << f;
    }
    for (const Fn2 f : {Fn2::Min, Fn2::Max, Fn2::Add, Fn2::PRelu}) {
      const std::vector<float> x(21, nan), one(21, 1.0f);
      std::vector<float> y(21);
      table->both(f)(x.data(), one.data(), y.data(), 21);
      for (const float v : y) EXPECT_TRUE(std::isnan(v));
      table->both(f)(one.data(), x.data(), y.data(), 21);
      for (const float v : y) EXPECT_TRUE(f == Fn2::PRelu || std::isnan(v));
    }
    std::vector<float> row(40, 1.0f);
    row[37] = nan;
    for (const Fold f : {Fold::Sum, Fold::Max, Fold::Min, Fold::Prod}) {
      EXPECT_TRUE(std::isnan(table->folded(f)(row.data(), 40)));
    }
  }
}

double fold_plain(Fold f, const std::vector<float>& x) {
  double r = f == Fold::Prod ? 1 : f == Fold::Max ? -INFINITY : f == Fold::Min ? INFINITY : 0;
  for (const double v : x) {
    if (f == Fold::Sum) r += v;
    if (f == Fold::SumAbs) r += std::fabs(v);
    if (f == Fold::SumSquare) r += v * v;
    if (f == Fold::Prod) r *= v;
    if (f == Fold::Max) r = std::max(r, v);
    if (f == Fold::Min) r = std::min(r, v);
  }
  return r;
}

TEST(MathRows, FoldsRowsAndColumns) {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> uniform(0.9f, 1.1f);
  for (const Rows* table : tables()) {
    for (std::size_t f = 0; f < kFolds; ++f) {
      for (const std::int64_t n : {0, 1, 3, 8, 17, 64, 100, 5000}) {
        std::vector<float> x(static_cast<std::size_t>(n));
        for (float& v : x) v = uniform(random);
        const double want = fold_plain(static_cast<Fold>(f), x);
        const double got = table->fold[f](x.data(), n);
        if (std::isinf(want)) {
          EXPECT_EQ(got, want);
        } else {
          EXPECT_NEAR(got, want, 1e-4 * std::fabs(want)) << table->name << ' ' << f << ' ' << n;
        }
      }
      for (const std::int64_t n : {1, 5, 8, 33, 70}) {
        const std::int64_t stride = n + 3, count = 130;
        std::vector<float> x(static_cast<std::size_t>(stride * count));
        for (float& v : x) v = uniform(random);
        std::vector<float> out(static_cast<std::size_t>(n), 1.0f);
        table->fold_rows[f](x.data(), stride, 100, out.data(), n, true);
        table->fold_rows[f](x.data() + 100 * stride, stride, 30, out.data(), n, false);
        for (std::int64_t i = 0; i < n; ++i) {
          std::vector<float> column;
          for (std::int64_t r = 0; r < count; ++r) {
            column.push_back(x[static_cast<std::size_t>(r * stride + i)]);
          }
          const double want = fold_plain(static_cast<Fold>(f), column);
          EXPECT_NEAR(out[static_cast<std::size_t>(i)], want, 1e-5 * std::fabs(want));
        }
      }
    }
  }
}

TEST(MathRows, QuantizeRoundsHalfToEvenAndSaturates) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float x[11] = {0.25f, 0.75f, 1.25f, -0.25f, 1e30f, -1e30f, nan, 63.25f, 100, -5, 0};
  const int want[11] = {128, 130, 130, 128, 255, 0, 128, 254, 255, 118, 128};
  for (const Rows* table : tables()) {
    // More than a register of them, of u8 and of s8, which are 128 less.
    for (int first = 0; first < 40; ++first) {
      std::vector<float> values(static_cast<std::size_t>(first), 7.5f);
      values.insert(values.end(), x, x + 11);
      std::vector<std::uint8_t> u(values.size()), s(values.size());
      const auto n = static_cast<std::int64_t>(values.size());
      table->quantize(values.data(), u.data(), n, 0.5f, 128, 0, 255);
      table->quantize(values.data(), s.data(), n, 0.5f, 0, -128, 127);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const int w = i < values.size() - 11 ? 143 : want[i + 11 - values.size()];
        EXPECT_EQ(u[i], w) << table->name << ' ' << i;
        EXPECT_EQ(static_cast<std::int8_t>(s[i]), w - 128) << table->name << ' ' << i;
      }
    }
  }
}

TEST(MathRows, DequantizesEachByte) {
  std::uint8_t x[256];
  for (int i = 0; i < 256; ++i) x[i] = static_cast<std::uint8_t>(i);
  for (const Rows* table : tables()) {
    for (const std::int64_t n : {256, 251, 7}) {
      std::vector<float> u(static_cast<std::size_t>(n)), s(u);
      table->dequantize_u8(x, u.data(), n, 0.3f, 77);
      table->dequantize_s8(reinterpret_cast<const std::int8_t*>(x), s.data(), n, 0.3f, -5);
      for (std::int64_t i = 0; i < n; ++i) {
        const auto k = static_cast<std::size_t>(i);
        EXPECT_EQ(u[k], static_cast<float>(i - 77) * 0.3f) << table->name;
        EXPECT_EQ(s[k], static_cast<float>(static_cast<std::int8_t>(i) + 5) * 0.3f) << table->name;
      }
    }
  }
}

}  // namespace
}  // namespace treadle::kernels
