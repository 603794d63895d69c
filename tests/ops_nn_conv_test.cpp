#include "ops/conv.hpp"
#include "ops/conv_transpose.hpp"
#include "ops_nn_util.hpp"

namespace treadle {
namespace {

using ops::AutoPad;
using ops::Conv;
using ops::ConvTranspose;
using ops::Layout;
using ops::WeightLayout;
using namespace test;
using Ints = std::vector<std::int64_t>;

Conv conv(std::size_t count) {
  Conv c;
  c.strides = c.dilations = Ints(count, 1);
  c.padding.before = c.padding.after = Ints(count, 0);
  return c;
}

ConvTranspose conv_transpose(std::size_t count) {
  ConvTranspose c;
  c.strides = c.dilations = Ints(count, 1);
  c.padding.before = c.padding.after = c.output_padding = Ints(count, 0);
  return c;
}

// NCDHW convolution by scattering each input element to the outputs it reaches.
std::vector<double> plain_conv(const Tensor& x, const Tensor& w, const Conv& c, const Shape& out) {
  const auto xs = x.span<float>(), ws = w.span<float>();
  std::vector<double> y(static_cast<std::size_t>(out.elements()), 0.0);
  const Shape &xd = x.shape(), &wd = w.shape();
  const std::int64_t in_per = wd[1], out_per = wd[0] / c.group;
  for (std::int64_t n = 0; n < xd[0]; ++n)
    for (std::int64_t ci = 0; ci < xd[1]; ++ci)
      for (std::int64_t d = 0; d < xd[2]; ++d)
        for (std::int64_t h = 0; h < xd[3]; ++h)
          for (std::int64_t q = 0; q < xd[4]; ++q)
            for (std::int64_t o = ci / in_per * out_per; o < (ci / in_per + 1) * out_per; ++o)
              for (std::int64_t a = 0; a < wd[2]; ++a)
                for (std::int64_t b = 0; b < wd[3]; ++b)
                  for (std::int64_t e = 0; e < wd[4]; ++e) {
                    const std::int64_t at[3] = {d + c.padding.before[0] - a * c.dilations[0],
                                                h + c.padding.before[1] - b * c.dilations[1],
                                                q + c.padding.before[2] - e * c.dilations[2]};
                    bool hit = true;
                    std::int64_t y_at = n * wd[0] + o;
                    for (std::size_t i = 0; i < 3; ++i) {
                      hit = hit && at[i] >= 0 && at[i] % c.strides[i] == 0 &&
                            at[i] / c.strides[i] < out[i + 2];
                      y_at = y_at * out[i + 2] + at[i] / c.strides[i];
                    }
                    if (!hit) continue;
                    const std::int64_t x_at =
                        (((n * xd[1] + ci) * xd[2] + d) * xd[3] + h) * xd[4] + q;
                    const std::int64_t w_at =
                        (((o * wd[1] + ci % in_per) * wd[2] + a) * wd[3] + b) * wd[4] + e;
                    y[static_cast<std::size_t>(y_at)] +=
                        static_cast<double>(xs[static_cast<std::size_t>(x_at)]) *
                        static_cast<double>(ws[static_cast<std::size_t>(w_at)]);
                  }
  return y;
}

// The first two sizes and the last ones, `rank` in all.
Shape cut(const Shape& s, std::size_t rank) {
  Shape out{s[0], s[1]};
  for (std::size_t i = s.size() - (rank - 2); i < s.size(); ++i) out.push_back(s[i]);
  return out;
}

// Ranks 3 to 5, every layout of data and weight, against the plain loops.
TEST(Conv, RanksLayoutsGroupsStridesDilations) {
  for (const std::int64_t group : {1, 2, 4}) {
    for (std::size_t rank = 3; rank <= 5; ++rank) {
      const std::size_t count = rank - 2, skip = 3 - count;
      Conv full = conv(3);
      full.group = group;
      const Ints strides{2, 1, 3}, dilations{1, 2, 1}, before{1, 0, 2}, after{0, 2, 1};
      Shape xd{2, 4, 5, 6, 7}, wd{8, 4 / group, 2, 3, 2};
      Shape out{2, 8, 1, 1, 1};
      for (std::size_t i = 0; i < 3; ++i) {
        if (i < skip) {
          xd[i + 2] = wd[i + 2] = 1;
          continue;
        }
        full.strides[i] = strides[i];
        full.dilations[i] = dilations[i];
        full.padding.before[i] = before[i];
        full.padding.after[i] = after[i];
        out[i + 2] =
            (xd[i + 2] + before[i] + after[i] - (wd[i + 2] - 1) * dilations[i] - 1) / strides[i] +
            1;
      }
      const Tensor x5 = whole_numbers(xd, 1), w5 = whole_numbers(wd, 2);
      const std::vector<double> want = plain_conv(x5, w5, full, out);
      const Shape out_shape = cut(out, rank);
      const Tensor x = x5.reshaped(cut(xd, rank)), w = w5.reshaped(cut(wd, rank));

      Conv c = conv(count);
      c.group = group;
      for (std::size_t i = 0; i < count; ++i) {
        c.strides[i] = full.strides[i + skip];
        c.dilations[i] = full.dilations[i + skip];
        c.padding.before[i] = full.padding.before[i + skip];
        c.padding.after[i] = full.padding.after[i + skip];
      }
      const Tensor y = evaluate(c, {x, w})[0];
      EXPECT_EQ(y.shape(), out_shape);
      EXPECT_EQ(values(y), want);

      c.layout = Layout::ChannelsLast;
      const Tensor x_last = permuted(x, to_last(rank));
      EXPECT_EQ(values(permuted(evaluate(c, {x_last, w})[0], to_first(rank))), want);
      c.weight_layout = WeightLayout::OHWI;
      EXPECT_EQ(
          values(permuted(evaluate(c, {x_last, permuted(w, to_last(rank))})[0], to_first(rank))),
          want);
      std::vector<std::size_t> hwio;
      for (std::size_t i = 2; i < rank; ++i) hwio.push_back(i);
      hwio.push_back(1);
      hwio.push_back(0);
      c.weight_layout = WeightLayout::HWIO;
      EXPECT_EQ(values(permuted(evaluate(c, {x_last, permuted(w, hwio)})[0], to_first(rank))),
                want);
    }
  }
}

TEST(Conv, BiasIsAddedPerChannel) {
  const Tensor x = Tensor::of<float>({1, 1, 2}, {1, 2});
  const Tensor w = Tensor::of<float>({2, 1, 1}, {3, -1});
  const Tensor b = Tensor::of<float>({2}, {10, 100});
  EXPECT_EQ(values(evaluate(conv(1), {x, w, b})[0]), (std::vector<double>{13, 16, 99, 98}));
}

// Ones n×n, W = 0..8 as 3×3, stride 2 (case H03).
TEST(Conv, SamePaddingWithStride2) {
  const Tensor w = counting({1, 1, 3, 3}, 0);
  const auto run = [&](std::int64_t n, AutoPad mode, Layout layout) {
    Conv c = conv(2);
    c.strides = {2, 2};
    c.padding.mode = mode;
    c.layout = layout;
    const Shape shape = layout == Layout::ChannelsFirst ? Shape{1, 1, n, n} : Shape{1, n, n, 1};
    return values(evaluate(c, {filled(shape, 1), w})[0]);
  };
  for (const Layout layout : {Layout::ChannelsFirst, Layout::ChannelsLast}) {
    EXPECT_EQ(run(1, AutoPad::SameUpper, layout), (std::vector<double>{4}));
    EXPECT_EQ(run(1, AutoPad::SameLower, layout), (std::vector<double>{4}));
    EXPECT_EQ(run(2, AutoPad::SameUpper, layout), (std::vector<double>{8}));
    EXPECT_EQ(run(2, AutoPad::SameLower, layout), (std::vector<double>{24}));
    EXPECT_EQ(run(3, AutoPad::SameUpper, layout), (std::vector<double>{24, 20, 12, 8}));
    EXPECT_EQ(run(3, AutoPad::SameLower, layout), (std::vector<double>{24, 20, 12, 8}));
  }
}

TEST(Conv, StrideLargerThanKernelPadsNothing) {
  Conv c = conv(1);
  c.strides = {3};
  for (const AutoPad mode : {AutoPad::SameUpper, AutoPad::SameLower, AutoPad::Valid}) {
    c.padding.mode = mode;
    const Tensor y = evaluate(c, {counting({1, 1, 7}, 1), Tensor::of<float>({1, 1, 1}, {2})})[0];
    EXPECT_EQ(values(y), (std::vector<double>{2, 8, 14}));
  }
}

TEST(Conv, SymbolicSizes) {
  Conv c = conv(2);
  c.strides = {2, 2};
  c.padding.before = c.padding.after = {1, 1};
  const Fact x = Fact::tensor(DType::F32, {Dim::symbol("N"), 3, Dim::symbol("H"), 224});
  const Fact w = Fact::tensor(DType::F32, {8, 3, 3, 3});
  const Fact* in[] = {&x, &w};
  const SymShape out = c.infer(in)[0].shape;
  EXPECT_EQ(out[0], Dim::symbol("N"));
  EXPECT_EQ(out[1], Dim(8));
  EXPECT_EQ(out[2].eval({{"H", 7}}), 4);
  EXPECT_EQ(out[2].eval({{"H", 8}}), 4);
  EXPECT_EQ(out[3], Dim(112));
  EXPECT_EQ(c.cost(in, c.infer(in)).flops.eval({{"N", 1}, {"H", 8}}), 2 * 8 * 4 * 112 * 27);
}

TEST(Conv, SixteenBitsAccumulateInF32) {
  // 2048 + 1 is not representable in f16 or bf16, 4096 is.
  std::vector<Half> ones(2049, Half(1.0f));
  Tensor x = Tensor::from<Half>({1, 1, 2049}, ones);
  Conv c = conv(1);
  const Tensor y = evaluate(c, {x, x})[0];
  EXPECT_EQ(static_cast<float>(y.span<Half>()[0]), 2048.0f);  // 2049 rounds to even
  std::vector<BFloat16> many(4096, BFloat16(1.0f));
  x = Tensor::from<BFloat16>({1, 1, 4096}, many);
  EXPECT_EQ(static_cast<float>(evaluate(c, {x, x})[0].span<BFloat16>()[0]), 4096.0f);
}

TEST(Conv, IntegersWrap) {
  const Tensor x = Tensor::of<std::int32_t>({1, 1, 2}, {2147483647, 2});
  const Tensor w = Tensor::of<std::int32_t>({1, 1, 2}, {1, 1});
  EXPECT_EQ(evaluate(conv(1), {x, w})[0].span<std::int32_t>()[0], -2147483647);
}

TEST(Conv, Errors) {
  const Tensor x = filled({1, 16, 5, 5}, 1);
  Conv c = conv(2);
  EXPECT_EQ(error_of(c, {x, filled({64, 32, 3, 3}, 1)}),
            "input 1 'w' has shape [64, 32, 3, 3], expected [64, 16, 3, 3] (Cout, Cin/group, "
            "kernel) because x has C=16, group=1");
  EXPECT_NE(error_of(c, {x, filled({4, 16, 7, 3}, 1)}), "");  // larger than the input
  c.group = 3;
  EXPECT_NE(error_of(c, {x, filled({6, 5, 3, 3}, 1)}).find("group=3"), std::string::npos);
  c.group = 0;
  EXPECT_NE(error_of(c, {x, filled({6, 16, 3, 3}, 1)}).find("group"), std::string::npos);
  for (Ints Conv::*member : {&Conv::strides, &Conv::dilations}) {
    Conv bad = conv(2);
    bad.*member = {1, 0};
    EXPECT_NE(error_of(bad, {x, filled({4, 16, 3, 3}, 1)}), "");
    bad.*member = {1};
    EXPECT_NE(error_of(bad, {x, filled({4, 16, 3, 3}, 1)}), "");
  }
  c = conv(2);
  EXPECT_NE(error_of(c, {x, filled({4, 16, 0, 3}, 1)}), "");
  EXPECT_NE(error_of(c, {x, filled({4, 16, 3}, 1)}), "");
  EXPECT_NE(error_of(c, {x, filled({4, 16, 3, 3}, 1), filled({3}, 1)}).find("bias"),
            std::string::npos);
}

// x = [1, 2, 3], W ones of 3, stride 2 (case H04).
TEST(ConvTranspose, AutoPad) {
  const Tensor x = counting({1, 1, 3}, 1), w = filled({1, 1, 3}, 1);
  ConvTranspose c = conv_transpose(1);
  c.strides = {2};
  EXPECT_EQ(values(evaluate(c, {x, w})[0]), (std::vector<double>{1, 1, 3, 2, 5, 3, 3}));
  c.padding.mode = AutoPad::SameUpper;
  EXPECT_EQ(values(evaluate(c, {x, w})[0]), (std::vector<double>{1, 1, 3, 2, 5, 3}));
  c.padding.mode = AutoPad::SameLower;
  EXPECT_EQ(values(evaluate(c, {x, w})[0]), (std::vector<double>{1, 3, 2, 5, 3, 3}));
  c.padding.mode = AutoPad::Valid;
  EXPECT_EQ(values(evaluate(c, {x, w})[0]), (std::vector<double>{1, 1, 3, 2, 5, 3, 3}));
  c.padding.mode = AutoPad::Explicit;
  c.padding.before = {1};
  c.padding.after = {2};
  EXPECT_EQ(values(evaluate(c, {x, w})[0]), (std::vector<double>{1, 3, 2, 5}));
  c.output_padding = {1};
  EXPECT_EQ(values(evaluate(c, {x, w})[0]), (std::vector<double>{1, 3, 2, 5, 3}));
}

TEST(ConvTranspose, OutputShapeDecidesThePadding) {
  const Tensor x = counting({1, 1, 3}, 1), w = filled({1, 1, 3}, 1);
  ConvTranspose c = conv_transpose(1);
  c.strides = {2};
  c.output_spatial = {Dim(6)};
  EXPECT_EQ(values(evaluate(c, {x, w})[0]), (std::vector<double>{1, 3, 2, 5, 3, 3}));
  c.padding.mode = AutoPad::SameUpper;
  EXPECT_EQ(values(evaluate(c, {x, w})[0]), (std::vector<double>{1, 1, 3, 2, 5, 3}));
  c.output_spatial = {Dim(9)};  // beyond what the kernel reaches
  EXPECT_EQ(values(evaluate(c, {x, w})[0]), (std::vector<double>{1, 1, 3, 2, 5, 3, 3, 0, 0}));
}

TEST(ConvTranspose, SymbolicOutputShape) {
  ConvTranspose c = conv_transpose(1);
  c.strides = {2};
  c.output_spatial = {Dim::symbol("L") * 2};
  const Value x(counting({1, 1, 3}, 1)), w(filled({1, 1, 3}, 1));
  const Value* in[] = {&x, &w};
  EXPECT_EQ(values(evaluate(c, in, {{"L", 3}})[0].tensor()),
            (std::vector<double>{1, 3, 2, 5, 3, 3}));
}

// The transposed convolution is the adjoint: Σ conv(x)·y = Σ x·conv_transpose(y), exactly.
TEST(ConvTranspose, IsTheAdjointOfConv) {
  for (const std::int64_t group : {1, 2}) {
    for (std::size_t rank = 3; rank <= 5; ++rank) {
      const std::size_t count = rank - 2;
      Conv forward = conv(count);
      ConvTranspose backward = conv_transpose(count);
      forward.group = backward.group = group;
      Shape xd{2, 4}, wd{6, 4 / group};
      for (std::size_t i = 0; i < count; ++i) {
        const auto k = static_cast<std::int64_t>(i);
        forward.strides[i] = 2;
        forward.dilations[i] = 1 + k % 2;
        forward.padding.before[i] = 1;
        forward.padding.after[i] = k % 2;
        xd.push_back(6 + k);
        wd.push_back(2 + k % 2);
        // What the forward division drops.
        backward.output_padding[i] =
            (xd[i + 2] + 1 + k % 2 - (wd[i + 2] - 1) * forward.dilations[i] - 1) % 2;
      }
      backward.strides = forward.strides;
      backward.dilations = forward.dilations;
      backward.padding = forward.padding;
      const Tensor x = whole_numbers(xd, 3), w = whole_numbers(wd, 4);
      const Tensor fx = evaluate(forward, {x, w})[0];
      const Tensor y = whole_numbers(fx.shape(), 5);
      const Tensor by = evaluate(backward, {y, w})[0];
      ASSERT_EQ(by.shape(), xd);
      const auto dot = [](const Tensor& a, const Tensor& b) {
        const auto u = values(a), v = values(b);
        return std::inner_product(u.begin(), u.end(), v.begin(), 0.0);
      };
      EXPECT_EQ(dot(fx, y), dot(x, by));

      // Channels last with TensorFlow's weight order [k…, Cout, Cin].
      std::vector<std::size_t> hwio;
      for (std::size_t i = 2; i < rank; ++i) hwio.push_back(i);
      hwio.push_back(1);
      hwio.push_back(0);
      backward.layout = Layout::ChannelsLast;
      backward.weight_layout = WeightLayout::HWIO;
      const Tensor last = evaluate(backward, {permuted(y, to_last(rank)), permuted(w, hwio)})[0];
      EXPECT_EQ(values(permuted(last, to_first(rank))), values(by));
    }
  }
}

TEST(ConvTranspose, BiasAndErrors) {
  const Tensor x = counting({1, 2, 2}, 1);
  ConvTranspose c = conv_transpose(1);
  c.group = 2;
  const Tensor w = Tensor::of<float>({2, 1, 1}, {1, 10});
  const Tensor y = evaluate(c, {x, w, Tensor::of<float>({2}, {100, 200})})[0];
  EXPECT_EQ(values(y), (std::vector<double>{101, 102, 230, 240}));
  EXPECT_NE(error_of(c, {x, filled({3, 1, 1}, 1)}).find("C=2"), std::string::npos);
  EXPECT_NE(error_of(c, {x, w, filled({3}, 1)}).find("bias"), std::string::npos);
  c.group = 3;
  EXPECT_NE(error_of(c, {x, w}), "");
  c.group = 1;
  c.padding.before = {9};
  EXPECT_NE(error_of(c, {x, w}).find("negative"), std::string::npos);
  c.padding.before = {0};
  c.strides = {0};
  EXPECT_NE(error_of(c, {x, w}), "");
}

}  // namespace
}  // namespace treadle
