#include "kernels/conv/conv.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "kernels/gemm/dot.hpp"
#include "kernels_util.hpp"

namespace treadle::kernels {
namespace {

struct Workspace {
  explicit Workspace(std::size_t bytes) : data(::operator new (bytes + 1, std::align_val_t{64})) {}
  ~Workspace() { ::operator delete (data, std::align_val_t{64}); }
  void* data;
};

struct Sum {
  double value = 0, magnitude = 0;
};

// The definition of convolution, one output element at a time.
Sum plain(const ConvDesc& d, const std::vector<float>& x, const std::vector<float>& w,
          const WeightStrides& s, std::int64_t pixel, std::int64_t o) {
  const std::int64_t ox = pixel % d.W_out, oy = pixel / d.W_out % d.H_out;
  const std::int64_t oz = pixel / d.W_out / d.H_out % d.D_out;
  const std::int64_t n = pixel / d.W_out / d.H_out / d.D_out;
  const std::int64_t g = o / d.cout_per_group();
  Sum sum;
  for (std::int64_t kz = 0; kz < d.kD; ++kz) {
    for (std::int64_t ky = 0; ky < d.kH; ++ky) {
      for (std::int64_t kx = 0; kx < d.kW; ++kx) {
        const std::int64_t iz = oz * d.stride_d + kz * d.dilation_d - d.pad_front;
        const std::int64_t iy = oy * d.stride_h + ky * d.dilation_h - d.pad_top;
        const std::int64_t ix = ox * d.stride_w + kx * d.dilation_w - d.pad_left;
        if (iz < 0 || iz >= d.D || iy < 0 || iy >= d.H || ix < 0 || ix >= d.W) continue;
        for (std::int64_t i = 0; i < d.cin_per_group(); ++i) {
          const std::int64_t at = (((n * d.D + iz) * d.H + iy) * d.W + ix) * d.Cin;
          const double p =
              double{x[static_cast<std::size_t>(at + g * d.cin_per_group() + i)]} *
              w[static_cast<std::size_t>(o * s.o + i * s.i + kz * s.d + ky * s.h + kx * s.w)];
          sum.value += p;
          sum.magnitude += std::abs(p);
        }
      }
    }
  }
  return sum;
}

void run_case(std::mt19937& random, const ConvDesc& d, Parallel& parallel, Act act = Act::None,
              const char* expected_name = nullptr, const ConvOptions& options = {}) {
  SCOPED_TRACE(::testing::Message()
               << "N " << d.N << " in " << d.D << "x" << d.H << "x" << d.W << "x" << d.Cin
               << " out " << d.D_out << "x" << d.H_out << "x" << d.W_out << "x" << d.Cout
               << " kernel " << d.kD << "x" << d.kH << "x" << d.kW << " stride " << d.stride_h
               << "," << d.stride_w << " dilation " << d.dilation_h << "," << d.dilation_w
               << " pad " << d.pad_top << "," << d.pad_left << " group " << d.group << " act "
               << static_cast<int>(act));
  const WeightStrides layouts[] = {oihw_strides(d), ohwi_strides(d), hwio_strides(d)};
  const WeightStrides strides = layouts[random() % 3];
  const auto x = random_floats(random, d.N * d.D * d.H * d.W * d.Cin);
  const auto w = random_floats(random, d.Cout * d.cin_per_group() * d.taps());
  const std::int64_t pixels = d.N * d.D_out * d.H_out * d.W_out;
  const std::int64_t y_stride = d.Cout + random() % 3;
  const auto before = random_floats(random, pixels * y_stride);
  const auto residual = random_floats(random, pixels * d.Cout);
  const auto bias = random_floats(random, d.Cout), slope = random_floats(random, d.Cout);
  Epilogue e;
  e.bias = random() % 2 ? bias.data() : nullptr;
  e.residual = random() % 2 ? residual.data() : nullptr;
  e.residual_stride = d.Cout;
  e.residual_before_act = random() % 2;
  e.act = act;
  e.a = act == Act::Clip ? -0.25f : 0.5f;
  e.b = 0.5f;
  e.slope = slope.data();
  const auto conv = make_conv(d, w.data(), strides, options);
  SCOPED_TRACE(conv->name());
  if (expected_name) {
    ASSERT_STREQ(conv->name(), expected_name);
  }
  // Winograd's error goes with the whole tile, of which a border pixel may see little: the mean
  // magnitude of a full window is the measure there.
  const bool winograd = std::string(conv->name()) == "winograd";
  const double floor = winograd ? 2 + 0.25 * static_cast<double>(9 * d.Cin) : 2;
  auto y = before;
  const Workspace workspace(conv->workspace_bytes(parallel.threads()));
  conv->run(x.data(), y.data(), y_stride, e, workspace.data, parallel);
  for (std::int64_t p = 0; p < pixels; ++p) {
    for (std::int64_t o = 0; o < y_stride; ++o) {
      const auto at = static_cast<std::size_t>(p * y_stride + o);
      if (o >= d.Cout) {
        ASSERT_EQ(y[at], before[at]) << "beside the output";
        continue;
      }
      const auto column = static_cast<std::size_t>(o);
      const float r = residual[static_cast<std::size_t>(p * d.Cout + o)];
      const Sum sum = plain(d, x, w, strides, p, o);
      double value = sum.value + (e.bias ? bias[column] : 0);
      if (e.residual && e.residual_before_act) value += r;
      value = apply_act(act, static_cast<float>(value), e.a, e.b, slope[column]);
      if (e.residual && !e.residual_before_act) value += r;
      ASSERT_NEAR(y[at], value, 1e-5 * (sum.magnitude + floor))
          << "pixel " << p << " channel " << o;
    }
  }
}

class ConvTest : public IsaTest {
 protected:
  const std::unique_ptr<Parallel> pool_ = make_thread_pool(2);
};

std::int64_t out_size(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                      std::int64_t dilation, std::int64_t pads) {
  const std::int64_t room = in + pads - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

ConvDesc random_conv(std::mt19937& random) {
  ConvDesc d;
  d.N = pick(random, 0, 3);
  if (d.N == 0) d.N = pick(random, 0, 1);
  d.H = pick(random, 1, 14);
  d.W = pick(random, 1, 20);
  d.kH = pick(random, 1, 5);
  d.kW = pick(random, 1, 5);
  d.stride_h = pick(random, 1, 3);
  d.stride_w = pick(random, 1, 3);
  d.dilation_h = pick(random, 1, 2);
  d.dilation_w = pick(random, 1, 2);
  d.pad_top = pick(random, -1, 4);
  d.pad_left = pick(random, -1, 4);
  if (random() % 5 == 0) {
    d.D = pick(random, 1, 5);
    d.kD = pick(random, 1, 3);
    d.stride_d = pick(random, 1, 2);
    d.dilation_d = pick(random, 1, 2);
    d.pad_front = pick(random, 0, 2);
    d.D_out = out_size(d.D, d.kD, d.stride_d, d.dilation_d, d.pad_front + pick(random, 0, 2));
  }
  if (random() % 4 == 0) d.H = d.kH = 1, d.pad_top = 0;
  d.H_out = out_size(d.H, d.kH, d.stride_h, d.dilation_h, d.pad_top + pick(random, 0, 4));
  d.W_out = out_size(d.W, d.kW, d.stride_w, d.dilation_w, d.pad_left + pick(random, 0, 4));
  const std::int64_t kind = pick(random, 0, 3);
  if (kind == 0) {  // depthwise
    d.Cin = d.group = pick(random, 1, 40);
    d.Cout = d.Cin * pick(random, 1, 3);
    if (random() % 2) d.Cout = d.Cin;
  } else if (kind == 1) {
    d.group = pick(random, 1, 4);
    d.Cin = d.group * pick(random, 1, 9);
    d.Cout = d.group * pick(random, 1, 20);
  } else {
    d.Cin = pick(random, 1, 40);
    d.Cout = pick(random, 1, 70);
  }
  return d;
}

TEST_P(ConvTest, AgreesWithTheDefinition) {
  std::mt19937 random(11);
  for (int i = 0; i < 500; ++i) {
    const ConvDesc d = random_conv(random);
    run_case(random, d, i % 2 ? *pool_ : serial(), static_cast<Act>(random() % 12));
    if (HasFatalFailure()) return;
  }
}

ConvDesc conv2d(std::int64_t h, std::int64_t w, std::int64_t cin, std::int64_t cout,
                std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  ConvDesc d;
  d.H = h;
  d.W = w;
  d.Cin = cin;
  d.Cout = cout;
  d.kH = d.kW = kernel;
  d.stride_h = d.stride_w = stride;
  d.pad_top = d.pad_left = pad;
  d.H_out = out_size(h, kernel, stride, 1, 2 * pad);
  d.W_out = out_size(w, kernel, stride, 1, 2 * pad);
  return d;
}

TEST_P(ConvTest, EachAlgorithm) {
  std::mt19937 random(12);
  const auto depthwise = [](ConvDesc d) {
    d.group = d.Cin;
    return d;
  };
  const std::pair<ConvDesc, const char*> cases[] = {
      {conv2d(9, 9, 70, 40, 1, 1, 0), "pointwise"},
      {conv2d(9, 9, 70, 40, 1, 2, 0), "indirect"},
      {conv2d(40, 41, 3, 20, 7, 2, 3), "rows"},
      {conv2d(17, 16, 3, 33, 3, 2, 1), "rows"},
      {conv2d(12, 12, 300, 24, 3, 2, 1), "indirect"},
      {depthwise(conv2d(19, 21, 48, 48, 3, 1, 1)), "depthwise"},
      {depthwise(conv2d(19, 21, 33, 33, 3, 2, 1)), "depthwise"},
      {depthwise(conv2d(14, 15, 40, 40, 5, 1, 2)), "depthwise"},
      {depthwise(conv2d(14, 15, 17, 17, 5, 2, 2)), "depthwise"},
      {depthwise(conv2d(20, 20, 20, 20, 9, 1, 4)), "depthwise"},
      {depthwise(conv2d(8, 8, 12, 24, 3, 1, 1)), "depthwise"},
  };
  for (const auto& [desc, name] : cases) {
    run_case(random, desc, serial(), Act::Relu, name);
    run_case(random, desc, *pool_, Act::HardSwish, name);
    if (HasFatalFailure()) return;
  }
}

TEST_P(ConvTest, Winograd) {
  std::mt19937 random(14);
  const std::int64_t shapes[][4] = {
      {12, 12, 32, 32}, {13, 22, 33, 47},   {17, 15, 40, 70}, {30, 12, 300, 35},
      {16, 16, 64, 64}, {40, 40, 160, 100}, {52, 48, 32, 40}};
  for (const auto& s : shapes) {
    ConvDesc d = conv2d(s[0], s[1], s[2], s[3], 3, 1, 1);
    d.N = pick(random, 1, 2);
    run_case(random, d, serial(), static_cast<Act>(random() % 12), "winograd");
    d.pad_left = 0;
    d.pad_top = 3;
    d.W_out += 2;
    run_case(random, d, *pool_, static_cast<Act>(random() % 12), "winograd");
    run_case(random, conv2d(s[0], s[1], s[2], s[3], 3, 1, 1), serial(), Act::None, "indirect",
             {.exact = true});
    if (HasFatalFailure()) return;
  }
}

// Memory at ready is bounded by the weights: Winograd's transformed weights, four times as large, are
// never kept.
TEST_P(ConvTest, WinogradPacksNoMoreThanTheWeights) {
  const ConvDesc d = conv2d(56, 56, 64, 96, 3, 1, 1);
  const std::vector<float> w(96 * 64 * 9, 1.0f);
  const auto conv = make_conv(d, w.data(), oihw_strides(d));
  ASSERT_STREQ(conv->name(), "winograd");
  EXPECT_EQ(conv->packed_bytes(), w.size() * sizeof(float));
}

TEST_P(ConvTest, TheSameWeightsServeWinogradAndSmallMaps) {
  std::mt19937 random(15);
  const ConvDesc d = conv2d(16, 16, 32, 32, 3, 1, 1);
  const auto w = random_floats(random, 32 * 32 * 9);
  const auto first = make_conv(d, w.data(), oihw_strides(d));
  ASSERT_STREQ(first->name(), "winograd");
  const ConvDesc small = conv2d(3, 2, 32, 32, 3, 1, 1);
  const auto second = make_conv(small, first->weights());
  ASSERT_STREQ(second->name(), "indirect");
  const auto x = random_floats(random, 6 * 32);
  std::vector<float> y(6 * 32);
  const Workspace workspace(second->workspace_bytes(1));
  second->run(x.data(), y.data(), 32, {}, workspace.data, serial());
  for (std::int64_t i = 0; i < 6 * 32; ++i) {
    const Sum sum = plain(small, x, w, oihw_strides(d), i / 32, i % 32);
    ASSERT_NEAR(y[static_cast<std::size_t>(i)], sum.value, 1e-5 * sum.magnitude);
  }
}

// The default accuracy: within 1e-5 of the largest output, on inputs as after a ReLU.
TEST_P(ConvTest, WinogradIsAccurate) {
  std::mt19937 random(16);
  const ConvDesc d = conv2d(12, 16, 512, 32, 3, 1, 1);
  auto x = random_floats(random, d.H * d.W * d.Cin);
  for (float& v : x) v = std::max(v, 0.0f);
  const auto w = random_floats(random, d.Cout * d.Cin * 9);
  const auto conv = make_conv(d, w.data(), oihw_strides(d));
  ASSERT_STREQ(conv->name(), "winograd");
  std::vector<float> y(static_cast<std::size_t>(d.H * d.W * d.Cout));
  const Workspace workspace(conv->workspace_bytes(1));
  conv->run(x.data(), y.data(), d.Cout, {}, workspace.data, serial());
  double largest = 0, error = 0;
  for (std::int64_t i = 0; i < d.H * d.W * d.Cout; ++i) {
    const double value = plain(d, x, w, oihw_strides(d), i / d.Cout, i % d.Cout).value;
    largest = std::max(largest, std::abs(value));
    error = std::max(error, std::abs(value - y[static_cast<std::size_t>(i)]));
  }
  EXPECT_LT(error, 1e-5 * largest);
}

TEST_P(ConvTest, NewShapeSharesPackedWeights) {
  std::mt19937 random(13);
  const ConvDesc d = conv2d(10, 10, 12, 20, 3, 1, 1);
  const auto w = random_floats(random, 20 * 12 * 9);
  const auto first = make_conv(d, w.data(), oihw_strides(d));
  ConvDesc other = conv2d(5, 7, 12, 20, 3, 1, 1);
  const auto second = make_conv(other, first->weights());
  EXPECT_EQ(first->weights().get(), second->weights().get());
  const auto x = random_floats(random, 5 * 7 * 12);
  std::vector<float> y(5 * 7 * 20);
  const Workspace workspace(second->workspace_bytes(1));
  second->run(x.data(), y.data(), 20, {}, workspace.data, serial());
  for (std::int64_t p = 0; p < 35; ++p) {
    const Sum sum = plain(other, x, w, oihw_strides(d), p, 3);
    EXPECT_NEAR(y[static_cast<std::size_t>(p * 20 + 3)], sum.value, 1e-5 * sum.magnitude);
  }
  other.Cout = 21;
  EXPECT_THROW(make_conv(other, first->weights()), Error);
}

TEST(ConvCheck, RefusesImpossibleSizes) {
  ConvDesc d = conv2d(10, 10, 12, 20, 3, 1, 1);
  d.group = 5;
  EXPECT_THROW(check_conv(d), Error);
  d.group = 0;
  EXPECT_THROW(check_conv(d), Error);
  d = conv2d(10, 10, 12, 20, 3, 1, 1);
  d.H = -1;
  EXPECT_THROW(check_conv(d), Error);
  d = conv2d(10, 10, 12, 20, 3, 1, 1);
  d.stride_h = 0;
  EXPECT_THROW(check_conv(d), Error);
  d = conv2d(10, 10, 12, 20, 3, 1, 1);
  d.N = d.H = d.W = std::int64_t{1} << 31;
  EXPECT_THROW(check_conv(d), Error);
}

TEST(ConvExplain, ListsRefusedAlgorithms) {
  const auto verdicts = explain_conv(conv2d(10, 10, 3, 20, 3, 1, 1));
  ASSERT_GE(verdicts.size(), 2u);
  EXPECT_EQ(verdicts.front().name, "pointwise");
  EXPECT_FALSE(verdicts.front().refused.empty());
  EXPECT_EQ(verdicts.back().name, "rows");
  EXPECT_TRUE(verdicts.back().refused.empty());
}

INSTANTIATE_TEST_SUITE_P(Isas, ConvTest, isas(), isa_name);

}  // namespace
}  // namespace treadle::kernels
