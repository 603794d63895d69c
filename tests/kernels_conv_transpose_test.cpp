#include "kernels/conv_transpose/conv_transpose.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "kernels_util.hpp"

namespace treadle::kernels {
namespace {

ConvTransposeDesc random_desc(std::mt19937& random) {
  ConvTransposeDesc d;
  const auto out = [](std::int64_t in, std::int64_t k, std::int64_t s, std::int64_t dil,
                      std::int64_t pads) {
    return std::max<std::int64_t>(0, (in - 1) * s + dil * (k - 1) + 1 - pads);
  };
  d.N = pick(random, 1, 2);
  d.group = random() % 3 ? 1 : pick(random, 2, 4);
  d.Cin = d.group * pick(random, 1, 12);
  d.Cout = d.group * pick(random, 1, 20);
  d.H = pick(random, 1, 7);
  d.W = pick(random, 1, 7);
  d.kH = pick(random, 1, 5);
  d.kW = pick(random, 1, 5);
  d.stride_h = pick(random, 1, 4);
  d.stride_w = pick(random, 1, 4);
  d.dilation_h = pick(random, 1, 3);
  d.dilation_w = pick(random, 1, 3);
  d.pad_top = pick(random, -1, 3);
  d.pad_left = pick(random, -1, 3);
  if (random() % 4 == 0) {
    d.D = pick(random, 1, 3);
    d.kD = pick(random, 1, 3);
    d.stride_d = pick(random, 1, 3);
    d.pad_front = pick(random, 0, 1);
    d.D_out = out(d.D, d.kD, d.stride_d, 1, d.pad_front);
  }
  // Output padding may reach beyond every tap.
  d.H_out = out(d.H, d.kH, d.stride_h, d.dilation_h, d.pad_top + pick(random, -3, 2));
  d.W_out = out(d.W, d.kW, d.stride_w, d.dilation_w, d.pad_left + pick(random, -3, 2));
  return d;
}

struct Sums {
  std::vector<double> value, magnitude;
};

// The definition: every input element is scattered.
Sums plain(const ConvTransposeDesc& d, const std::vector<float>& x, const std::vector<float>& w) {
  const auto size = static_cast<std::size_t>(d.N * d.D_out * d.H_out * d.W_out * d.Cout);
  Sums sums{std::vector<double>(size), std::vector<double>(size)};
  const std::int64_t pixels = d.N * d.D * d.H * d.W;
  for (std::int64_t p = 0; p < pixels; ++p) {
    const std::int64_t ix = p % d.W, iy = p / d.W % d.H, iz = p / d.W / d.H % d.D;
    const std::int64_t n = p / d.W / d.H / d.D;
    for (std::int64_t t = 0; t < d.taps(); ++t) {
      const std::int64_t ox = ix * d.stride_w + t % d.kW * d.dilation_w - d.pad_left;
      const std::int64_t oy = iy * d.stride_h + t / d.kW % d.kH * d.dilation_h - d.pad_top;
      const std::int64_t oz = iz * d.stride_d + t / d.kW / d.kH * d.dilation_d - d.pad_front;
      if (ox < 0 || ox >= d.W_out || oy < 0 || oy >= d.H_out || oz < 0 || oz >= d.D_out) continue;
      const std::int64_t to = ((n * d.D_out + oz) * d.H_out + oy) * d.W_out + ox;
      for (std::int64_t i = 0; i < d.Cin; ++i) {
        const std::int64_t g = i / d.cin_per_group();
        for (std::int64_t j = 0; j < d.cout_per_group(); ++j) {
          const double product =
              double{x[static_cast<std::size_t>(p * d.Cin + i)]} *
              w[static_cast<std::size_t>((i * d.cout_per_group() + j) * d.taps() + t)];
          const auto at = static_cast<std::size_t>(to * d.Cout + g * d.cout_per_group() + j);
          sums.value[at] += product;
          sums.magnitude[at] += std::abs(product);
        }
      }
    }
  }
  return sums;
}

TEST(ConvTranspose, AgreesWithTheDefinition) {
  std::mt19937 random(21);
  const auto pool = make_thread_pool(2);
  for (int i = 0; i < 300; ++i) {
    const ConvTransposeDesc d = random_desc(random);
    SCOPED_TRACE(::testing::Message() << "case " << i);
    const auto x = random_floats(random, d.N * d.D * d.H * d.W * d.Cin);
    const auto w = random_floats(random, d.Cin * d.cout_per_group() * d.taps());
    const auto bias = random_floats(random, d.Cout);
    const Sums sums = plain(d, x, w);
    const ConvTranspose conv(d, pack_conv_transpose_weights(d, w.data(), iohw_strides(d)));
    std::vector<float> y(sums.value.size());
    Epilogue e;
    e.bias = bias.data();
    e.act = Act::Relu;
    conv.run(x.data(), y.data(), d.Cout, e, i % 2 ? *pool : serial());
    for (std::size_t j = 0; j < y.size(); ++j) {
      const double value = sums.value[j] + bias[j % static_cast<std::size_t>(d.Cout)];
      ASSERT_NEAR(y[j], value < 0 ? 0 : value, 1e-5 * (sums.magnitude[j] + 1)) << "element " << j;
    }
  }
}

TEST(ConvTranspose, RefusesWeightsOfOtherSizes) {
  ConvTransposeDesc d;
  d.Cin = 2;
  d.Cout = 3;
  const std::vector<float> w(6, 1.0f);
  const auto packed = pack_conv_transpose_weights(d, w.data(), iohw_strides(d));
  d.stride_w = 2;
  EXPECT_THROW(ConvTranspose(d, packed), Error);
}

}  // namespace
}  // namespace treadle::kernels
