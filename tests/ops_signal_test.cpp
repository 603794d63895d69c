// Fourier transforms against the sum that defines them, and strings by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "base/error.hpp"
#include "graph/evaluate.hpp"
#include "ops/fft.hpp"
#include "ops/strings.hpp"
#include "ops/tfidf.hpp"

namespace treadle::ops {
namespace {

using Complex = std::complex<double>;

std::vector<Complex> by_definition(const std::vector<Complex>& x, bool inverse) {
  const std::size_t n = x.size();
  std::vector<Complex> y(n);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t j = 0; j < n; ++j) {
      const double turn =
          2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
      y[k] += x[j] * std::polar(1.0, inverse ? turn : -turn);
    }
  }
  return y;
}

TEST(OpsSignal, AnyLength) {
  for (const std::size_t n : {1, 2, 3, 4, 5, 7, 8, 12, 31, 32, 64, 97, 100, 360, 1021}) {
    std::vector<Complex> x(n);
    for (std::size_t k = 0; k < n; ++k) {
      x[k] = {std::sin(static_cast<double>(3 * k + 1)), std::cos(static_cast<double>(k * k % 17))};
    }
    const FourierPlan plan(n);
    for (const bool inverse : {false, true}) {
      std::vector<Complex> y = x;
      plan.transform(y.data(), inverse);
      const auto want = by_definition(x, inverse);
      for (std::size_t k = 0; k < n; ++k) {
        EXPECT_LT(std::abs(y[k] - want[k]), 1e-11 * static_cast<double>(n)) << n << ": " << k;
      }
    }
  }
}

TEST(OpsSignal, TooLong) {
  EXPECT_THROW(FourierPlan(std::size_t{1} << 40), Error);
}

std::vector<std::string> texts(const Tensor& t) {
  const auto s = t.span<std::string>();
  return {s.begin(), s.end()};
}

TEST(OpsStrings, Split) {
  using Strings = std::vector<std::string>;
  const Tensor x = Tensor::of<std::string>(Shape{2}, {" a  b\tc ", ""});
  auto y = evaluate(StringSplit("", -1, Dim::symbol("n")), {x});
  EXPECT_EQ(texts(y[0]), (Strings{"a", "b", "c", "", "", ""}));
  EXPECT_EQ(y[1].to_i64(), (std::vector<std::int64_t>{3, 0}));
  y = evaluate(StringSplit("", 1, Dim::symbol("n")), {x});
  EXPECT_EQ(texts(y[0]), (Strings{"a", "b\tc ", "", ""}));
  y = evaluate(StringSplit(",", 1, Dim::symbol("n")),
               {Tensor::of<std::string>(Shape{1}, {",a,b"})});
  EXPECT_EQ(texts(y[0]), (Strings{"", "a,b"}));
}

TEST(OpsStrings, CasesBeyondAscii) {
  StringNormalizer op;
  op.change = CaseChange::Upper;
  op.stopwords = {"ÉTÉ"};
  op.count = Dim::symbol("n");
  const Tensor x = Tensor::of<std::string>(Shape{2}, {"été", "žluťoučký"});
  EXPECT_EQ(texts(evaluate(op, {x})[0]), std::vector<std::string>{"ŽLUŤOUČKÝ"});
  EXPECT_THROW(evaluate(op, {Tensor::of<std::string>(Shape{1}, {"\xff"})}), Error);
}

TEST(OpsStrings, RegexIsLinear) {
  EXPECT_THROW(RegexFullMatch("(a"), Error);
  // Takes a matcher that backtracks longer than the universe has existed.
  const Tensor x =
      Tensor::of<std::string>(Shape{2}, {std::string(2000, 'a') + "b", std::string(200'000, 'a')});
  const Tensor y = evaluate(RegexFullMatch("(a*)*(a|aa)*c?"), {x})[0];
  EXPECT_FALSE(y.span<bool>()[0]);
  EXPECT_TRUE(y.span<bool>()[1]);
}

TfIdf::Params bigrams() {
  TfIdf::Params p;
  p.min_length = 1;
  p.max_length = 2;
  p.max_skip = 1;
  p.pool = Tensor::of<std::int64_t>(Shape{5}, {7, 7, 8, 7, 7});
  p.starts = {0, 1};
  p.indexes = {2, 0, 1};
  return p;
}

TEST(OpsStrings, TfIdf) {
  const Tensor x = Tensor::of<std::int64_t>(Shape{4}, {7, 8, 7, 8});
  // 7 alone twice; (7, 8) at distance 1 twice; (7, 7) at distance 2 once.
  const Tensor y = evaluate(TfIdf(bigrams()), {x})[0];
  EXPECT_EQ(y.to_f64(), (std::vector<double>{2, 1, 2}));
}

TEST(OpsStrings, TfIdfThatDoesNotFit) {
  const auto refused = [](auto change) {
    TfIdf::Params p = bigrams();
    change(p);
    EXPECT_THROW(TfIdf{p}, Error);
  };
  refused([](TfIdf::Params& p) { p.starts = {0, 9}; });
  refused([](TfIdf::Params& p) { p.starts = {0, 2}; });
  refused([](TfIdf::Params& p) { p.starts = {3, 1}; });
  refused([](TfIdf::Params& p) { p.indexes = {2, 0}; });
  refused([](TfIdf::Params& p) { p.indexes = {2, 0, -1}; });
  refused([](TfIdf::Params& p) { p.max_length = 3; });
  refused([](TfIdf::Params& p) { p.max_skip = -1; });
}

}  // namespace
}  // namespace treadle::ops
