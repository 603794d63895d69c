#include <cmath>
#include <limits>

#include "ops/pool.hpp"
#include "ops_nn_util.hpp"

namespace treadle {
namespace {

using ops::AutoPad;
using ops::Layout;
using ops::Pool;
using ops::PoolKind;
using namespace test;
using Ints = std::vector<std::int64_t>;
using Doubles = std::vector<double>;

Pool pool(PoolKind kind, Ints kernel, std::int64_t stride) {
  Pool p;
  p.kind = kind;
  p.strides = Ints(kernel.size(), stride);
  p.dilations = Ints(kernel.size(), 1);
  p.padding.before = p.padding.after = Ints(kernel.size(), 0);
  p.kernel = std::move(kernel);
  return p;
}

// Case H01.
TEST(Pool, AverageSameLower) {
  Pool p = pool(PoolKind::Average, {5, 1}, 1);
  p.padding.mode = AutoPad::SameLower;
  p.count_include_pad = true;
  expect_near(evaluate(p, {counting({1, 1, 6, 2}, 0)})[0],
              {1.2, 1.8, 2.4, 3.2, 4, 5, 6, 7, 5.6, 6.4, 4.8, 5.4});
  p = pool(PoolKind::Average, {2}, 1);
  p.padding.mode = AutoPad::SameLower;
  EXPECT_EQ(values(evaluate(p, {counting({1, 1, 4}, 1)})[0]), (Doubles{1, 1.5, 2.5, 3.5}));
  p.padding.mode = AutoPad::SameUpper;
  EXPECT_EQ(values(evaluate(p, {counting({1, 1, 4}, 1)})[0]), (Doubles{1.5, 2.5, 3.5, 4}));
}

// Case H02.
TEST(Pool, AverageCeilMode) {
  Pool p = pool(PoolKind::Average, {3, 3}, 2);
  p.ceil_mode = true;
  EXPECT_EQ(values(evaluate(p, {counting({1, 1, 4, 4}, 1)})[0]), (Doubles{6, 7.5, 12, 13.5}));
  p = pool(PoolKind::Average, {7}, 3);
  p.ceil_mode = p.count_include_pad = true;
  p.padding.before = p.padding.after = {3};
  expect_near(evaluate(p, {counting({1, 1, 9}, 1)})[0], {10.0 / 7, 4, 39.0 / 7, 4});
}

TEST(Pool, CeilModeDropsAWindowThatStartsInThePadding) {
  Pool p = pool(PoolKind::Max, {1}, 2);
  p.ceil_mode = true;
  p.padding.after = {1};
  // Size 4, one after: windows at 0, 2; one at 4 would see padding only.
  EXPECT_EQ(values(evaluate(p, {counting({1, 1, 4}, 1)})[0]), (Doubles{1, 3}));
}

// The largest and the mean of each window, by loops over a padded NCDHW volume.
TEST(Pool, RanksAndLayouts) {
  const Shape xd{2, 3, 5, 4, 6};
  const Tensor x5 = whole_numbers(xd, 9);
  for (std::size_t rank = 3; rank <= 5; ++rank) {
    const std::size_t count = rank - 2, skip = 3 - count;
    Shape shape{2, 3};
    std::int64_t keep = 1;
    for (std::size_t i = skip; i < 3; ++i) {
      shape.push_back(xd[i + 2]);
      keep *= xd[i + 2];
    }
    const Tensor x =
        Tensor::from<float>(shape, x5.span<float>().first(static_cast<std::size_t>(keep * 6)));
    Pool p = pool(PoolKind::Max, Ints(count, 2), 1);
    p.dilations = Ints(count, 2);
    p.padding.before = Ints(count, 1);
    p.padding.after = Ints(count, 1);
    Doubles largest, mean;
    Shape out{2, 3, 1, 1, 1}, in{2, 3, 1, 1, 1};
    for (std::size_t i = 0; i < count; ++i) {
      in[i + 2 + skip] = shape[i + 2];
      out[i + 2 + skip] = shape[i + 2] + 2 - 2;
    }
    const auto xs = x.span<float>();
    for (std::int64_t plane = 0; plane < 6; ++plane)
      for (std::int64_t a = 0; a < out[2]; ++a)
        for (std::int64_t b = 0; b < out[3]; ++b)
          for (std::int64_t c = 0; c < out[4]; ++c) {
            double top = -std::numeric_limits<double>::infinity(), sum = 0, cells = 0;
            for (std::int64_t t = 0; t < 8; ++t) {
              const std::int64_t d = skip > 0 ? (t & 4 ? -1 : 0) : a - 1 + (t & 4 ? 2 : 0);
              const std::int64_t h = skip > 1 ? (t & 2 ? -1 : 0) : b - 1 + (t & 2 ? 2 : 0);
              const std::int64_t w = c - 1 + (t & 1 ? 2 : 0);
              if (d < 0 || d >= in[2] || h < 0 || h >= in[3] || w < 0 || w >= in[4]) continue;
              const double v = static_cast<double>(
                  xs[static_cast<std::size_t>(((plane * in[2] + d) * in[3] + h) * in[4] + w)]);
              top = std::max(top, v);
              sum += v;
              cells += 1;
            }
            largest.push_back(top);
            mean.push_back(sum / cells);
          }
    for (const Layout layout : {Layout::ChannelsFirst, Layout::ChannelsLast}) {
      p.layout = layout;
      const bool last = layout == Layout::ChannelsLast;
      const Tensor input = last ? permuted(x, to_last(rank)) : x;
      const auto run = [&] {
        const Tensor y = evaluate(p, {input})[0];
        return last ? permuted(y, to_first(rank)) : y;
      };
      p.kind = PoolKind::Max;
      EXPECT_EQ(values(run()), largest);
      p.kind = PoolKind::Average;
      expect_near(run(), mean);
    }
  }
}

TEST(Pool, MaxPropagatesNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::of<float>({1, 1, 5}, {1, nan, 3, 4, 5});
  const Tensor out = evaluate(pool(PoolKind::Max, {2}, 1), {x})[0];
  const auto y = out.span<float>();
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(y[2], 4);
  EXPECT_EQ(y[3], 5);
}

TEST(Pool, Indices) {
  // Two channels of 2×3.
  const Tensor x = Tensor::of<float>({1, 2, 2, 3}, {1, 5, 2, 4, 5, 3, 0, 0, 7, 9, 1, 1});
  Pool p = pool(PoolKind::Max, {2, 2}, 1);
  p.with_indices = true;
  EXPECT_EQ(evaluate(p, {x})[1].to_i64(), (Ints{1, 1, 9, 8}));
  p.storage_order = 1;
  // (row 0, column 1) is 2 in column-major order; the second channel begins at 6.
  EXPECT_EQ(evaluate(p, {x})[1].to_i64(), (Ints{2, 2, 7, 10}));
  p.storage_order = 0;
  p.layout = Layout::ChannelsLast;
  EXPECT_EQ(evaluate(p, {permuted(x, to_last(4))})[1].to_i64(), (Ints{1, 9, 1, 8}));
}

TEST(Pool, IntegersAndLp) {
  const Tensor x = Tensor::of<std::int8_t>({1, 1, 4}, {-128, -3, 7, 1});
  EXPECT_EQ(evaluate(pool(PoolKind::Max, {2}, 1), {x})[0].to_i64(), (Ints{-3, 7, 7}));
  Pool p = pool(PoolKind::Lp, {2}, 2);
  EXPECT_EQ(values(evaluate(p, {Tensor::of<float>({1, 1, 4}, {3, -4, 6, 8})})[0]),
            (Doubles{5, 10}));
  p.p = 1;
  EXPECT_EQ(values(evaluate(p, {Tensor::of<float>({1, 1, 4}, {3, -4, 6, 8})})[0]),
            (Doubles{7, 14}));
}

TEST(Pool, Errors) {
  const Tensor x = counting({1, 1, 4}, 1);
  EXPECT_NE(error_of(pool(PoolKind::Max, {0}, 1), {x}), "");
  EXPECT_NE(error_of(pool(PoolKind::Max, {2}, 0), {x}), "");
  EXPECT_NE(error_of(pool(PoolKind::Max, {2, 2}, 1), {x}), "");
  EXPECT_NE(error_of(pool(PoolKind::Max, {9}, 1), {x}).find("does not fit"), std::string::npos);
  Pool p = pool(PoolKind::Max, {2}, 1);
  p.padding.before = {-1};
  EXPECT_NE(error_of(p, {x}), "");
}

}  // namespace
}  // namespace treadle
