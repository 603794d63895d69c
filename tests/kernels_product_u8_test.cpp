#include "kernels/product_u8/product_u8.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/product_u8/conv_u8.hpp"
#include "kernels_util.hpp"

namespace treadle::kernels {
namespace {

// Every set of kernels that this machine runs, by its line in the table.
class ProductU8Test : public ::testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    ChoiceU8 choices[kMaxChoicesU8];
    const std::size_t count = all_kernels_u8(choices);
    if (GetParam() >= count) GTEST_SKIP();
    const ChoiceU8& c = choices[GetParam()];
    if (!c.runs || (c.isa != Isa::Generic && c.isa > detected_isa())) GTEST_SKIP();
    kernels_ = c.kernels;
  }
  const KernelsU8* kernels_ = nullptr;
};

std::vector<std::uint8_t> random_bytes(std::mt19937& random, std::int64_t n) {
  std::vector<std::uint8_t> v(static_cast<std::size_t>(n));
  for (auto& x : v) x = static_cast<std::uint8_t>(random());
  return v;
}

std::vector<std::int32_t> random_weights(std::mt19937& random, std::int64_t n, std::int64_t low,
                                         std::int64_t high) {
  std::vector<std::int32_t> v(static_cast<std::size_t>(n));
  for (auto& x : v) x = static_cast<std::int32_t>(pick(random, low, high));
  return v;
}

// Ranges of weights: s8; u8 less zero points in the middle and at the ends; the widest.
constexpr std::int64_t kRanges[][2] = {{-128, 127}, {-127, 127}, {-130, 125},
                                       {-255, 0},   {0, 255},    {kLeastU8Weight, kMostU8Weight}};

// The requantisation of one sum, in the words of ONNX: rounded half to even, then saturated.
struct Requantise {
  std::vector<std::int32_t> bias;
  std::vector<float> factor;
  float low = 0, high = 0;  // in f32, before rounding
  std::int32_t x_zero = 0, y_zero = 0;
  bool s8_in = false, s8_out = false;

  Requantise(std::mt19937& random, std::int64_t columns) {
    bias = random_weights(random, columns, -100000, 100000);
    s8_in = random() % 2;
    s8_out = random() % 2;
    x_zero = static_cast<std::int32_t>(pick(random, 0, 255)) - (s8_in ? 128 : 0);
    y_zero = static_cast<std::int32_t>(pick(random, 0, 255)) - (s8_out ? 128 : 0);
    low = static_cast<float>((s8_out ? -128 : 0) - y_zero);
    high = static_cast<float>((s8_out ? 127 : 255) - y_zero);
    for (std::int64_t i = 0; i < columns; ++i)
      factor.push_back(std::ldexp(static_cast<float>(pick(random, 1, 99)), -16));
  }
  std::uint32_t flip() const { return s8_in ? 0x80808080u : 0; }
  std::int32_t value(std::uint8_t byte) const {
    return (s8_in ? static_cast<std::int8_t>(byte) : static_cast<std::int32_t>(byte)) - x_zero;
  }
  std::int32_t shifted_zero() const { return x_zero + (s8_in ? 128 : 0); }
  std::uint8_t byte(std::int32_t sum, std::size_t column) const {
    const float y = static_cast<float>(sum) * factor[column];
    const auto rounded = static_cast<std::int64_t>(std::nearbyint(static_cast<double>(y)));
    const std::int64_t least = s8_out ? -128 : 0;
    return static_cast<std::uint8_t>(std::clamp(rounded + y_zero, least, least + 255));
  }
  // One a padded column.
  std::vector<float> factors(const PackedU8& w) const {
    std::vector<float> out(static_cast<std::size_t>(w.groups * w.padded), 0.0f);
    for (std::int64_t i = 0; i < w.groups * w.columns; ++i) {
      out[static_cast<std::size_t>(i / w.columns * w.padded + i % w.columns)] =
          factor[static_cast<std::size_t>(i)];
    }
    return out;
  }
  std::vector<std::int32_t> starts(const PackedU8& w) const {
    std::vector<std::int32_t> out(static_cast<std::size_t>(w.groups * w.padded));
    start_u8(w, shifted_zero(), bias.data(), out.data());
    return out;
  }
  FinishU8 finish(StoreU8 store, const std::vector<std::int32_t>& start,
                  const std::vector<float>& scale) const {
    return {start.data(), scale.data(), store, low, high, y_zero};
  }
};

// Compares what was stored with sums[i] in `columns` columns; rows lie `stride` elements apart, and
// what lies between them was not touched.
void expect_stored(const std::vector<std::uint8_t>& stored, StoreU8 store,
                   const std::vector<std::int32_t>& sums, std::int64_t columns, std::int64_t stride,
                   const Requantise& q) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::size_t j = i % static_cast<std::size_t>(columns);
    const std::size_t at =
        i / static_cast<std::size_t>(columns) * static_cast<std::size_t>(stride) + j;
    if (store == StoreU8::Byte) {
      ASSERT_EQ(stored[at], q.byte(sums[i], j)) << "element " << i << ", sum " << sums[i];
    } else if (store == StoreU8::F32) {
      float y = 0;
      std::memcpy(&y, stored.data() + 4 * at, 4);
      ASSERT_EQ(y, std::clamp(static_cast<float>(sums[i]) * q.factor[j], q.low, q.high)) << i;
    } else {
      std::int32_t y = 0;
      std::memcpy(&y, stored.data() + 4 * at, 4);
      ASSERT_EQ(y, sums[i]) << i;
    }
  }
  const std::size_t size = store == StoreU8::Byte ? 1 : 4;
  for (std::size_t at = 0; at < stored.size(); ++at) {
    const auto column = static_cast<std::int64_t>(at / size) % stride;
    if (column >= columns) {
      ASSERT_EQ(stored[at], 0xA5) << at;
    }
  }
}

void run_gemm(const KernelsU8& kernels, std::mt19937& random, std::int64_t m, std::int64_t n,
              std::int64_t k, Parallel& parallel) {
  const auto& range = kRanges[random() % std::size(kRanges)];
  const bool transposed = random() % 2;
  const auto store = static_cast<StoreU8>(random() % 3);
  const std::int64_t lda = k + static_cast<std::int64_t>(random() % 3);
  const std::int64_t ldc = n + static_cast<std::int64_t>(random() % 3);
  SCOPED_TRACE(::testing::Message() << kernels.name << " " << m << "x" << n << "x" << k << " from "
                                    << range[0] << " to " << range[1]);
  // The last row ends where the buffer does.
  const std::vector<std::uint8_t> a =
      random_bytes(random, std::max<std::int64_t>(0, (m - 1) * lda + k));
  const std::vector<std::int32_t> b = random_weights(random, k * n, range[0], range[1]);
  const Requantise q(random, n);
  WeightsU8 w;
  w.b = b.data();
  w.k = k;
  w.columns = n;
  w.row_stride = transposed ? 1 : n;
  w.column_stride = transposed ? k : 1;
  const SharedPackedU8 packed = pack_u8(kernels, w);
  const auto start = q.starts(*packed);
  const auto factor = q.factors(*packed);
  std::vector<std::uint8_t> c(static_cast<std::size_t>(m * ldc) * 4, 0xA5);
  if (store == StoreU8::Byte) c.resize(static_cast<std::size_t>(m * ldc));
  GemmU8 g;
  g.m = m;
  g.a = a.data();
  g.lda = lda;
  g.flip = q.flip();
  g.weights = packed.get();
  g.c = c.data();
  g.ldc = ldc;
  g.finish = q.finish(store, start, factor);
  gemm_u8(g, parallel);
  std::vector<std::int32_t> sums;
  for (std::int64_t r = 0; r < m; ++r) {
    for (std::int64_t j = 0; j < n; ++j) {
      std::int32_t sum = q.bias[static_cast<std::size_t>(j)];
      for (std::int64_t i = 0; i < k; ++i) {
        sum += q.value(a[static_cast<std::size_t>(r * lda + i)]) *
               b[static_cast<std::size_t>(i * w.row_stride + j * w.column_stride)];
      }
      sums.push_back(sum);
    }
  }
  expect_stored(c, store, sums, n, ldc, q);
}

TEST_P(ProductU8Test, GemmIsExact) {
  std::mt19937 random(1);
  const auto pool = make_thread_pool(2);
  for (int round = 0; round < 300; ++round) {
    run_gemm(*kernels_, random, pick(random, 1, 70), pick(random, 1, 140), pick(random, 0, 70),
             serial());
  }
  for (std::int64_t n = 1; n <= 200; n += 3) run_gemm(*kernels_, random, 11, n, 9, serial());
  for (int round = 0; round < 6; ++round)
    run_gemm(*kernels_, random, pick(random, 300, 500), pick(random, 100, 300),
             pick(random, 100, 300), *pool);
}

// Products of which any sum of two overflows 16 bits.
TEST_P(ProductU8Test, DoesNotSaturate) {
  for (const std::int32_t weight : {-128, 127}) {
    const std::vector<std::uint8_t> a(64, 255);
    const std::vector<std::int32_t> b(64 * 40, weight);
    WeightsU8 w;
    w.b = b.data();
    w.k = 64;
    w.columns = 40;
    w.row_stride = 40;
    w.column_stride = 1;
    const SharedPackedU8 packed = pack_u8(*kernels_, w);
    std::vector<std::int32_t> start(static_cast<std::size_t>(packed->padded), 0), c(40);
    GemmU8 g;
    g.m = 1;
    g.a = a.data();
    g.lda = 64;
    g.weights = packed.get();
    g.c = c.data();
    g.ldc = 40;
    g.finish.start = start.data();
    gemm_u8(g, serial());
    for (const std::int32_t sum : c) EXPECT_EQ(sum, 64 * 255 * weight);
  }
}

ConvDesc random_conv(std::mt19937& random) {
  ConvDesc d;
  const auto axis = [&](std::int64_t& in, std::int64_t& kernel, std::int64_t& stride,
                        std::int64_t& dilation, std::int64_t& pad, std::int64_t& out) {
    kernel = pick(random, 1, 3);
    stride = pick(random, 1, 2);
    dilation = pick(random, 1, 2);
    pad = pick(random, 0, 2);
    in = (kernel - 1) * dilation + pick(random, 1, 9);
    out = (in + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
  };
  d.N = pick(random, 1, 2);
  if (random() % 4 == 0) axis(d.D, d.kD, d.stride_d, d.dilation_d, d.pad_front, d.D_out);
  axis(d.H, d.kH, d.stride_h, d.dilation_h, d.pad_top, d.H_out);
  axis(d.W, d.kW, d.stride_w, d.dilation_w, d.pad_left, d.W_out);
  d.group = pick(random, 1, 3);
  d.Cin = d.group * pick(random, 1, random() % 2 ? 9 : 40);
  d.Cout = d.group * pick(random, 1, random() % 2 ? 9 : 80);
  // Depthwise.
  if (random() % 3 == 0) d.group = d.Cin = d.Cout;
  return d;
}

// The sums of one output pixel.
void conv_sums(const ConvDesc& d, const std::vector<std::uint8_t>& x,
               const std::vector<std::int32_t>& w, const Requantise& q, std::int64_t n,
               std::int64_t z0, std::int64_t y0, std::int64_t x0, std::vector<std::int32_t>& sums) {
  const std::int64_t cin = d.cin_per_group();
  for (std::int64_t o = 0; o < d.Cout; ++o) {
    std::int32_t sum = q.bias[static_cast<std::size_t>(o)];
    for (std::int64_t t = 0; t < d.taps(); ++t) {
      const std::int64_t z = z0 * d.stride_d - d.pad_front + t / d.kW / d.kH * d.dilation_d;
      const std::int64_t y = y0 * d.stride_h - d.pad_top + t / d.kW % d.kH * d.dilation_h;
      const std::int64_t v = x0 * d.stride_w - d.pad_left + t % d.kW * d.dilation_w;
      if (z < 0 || z >= d.D || y < 0 || y >= d.H || v < 0 || v >= d.W) continue;
      for (std::int64_t i = 0; i < cin; ++i) {
        const std::int64_t from =
            (((n * d.D + z) * d.H + y) * d.W + v) * d.Cin + o / d.cout_per_group() * cin + i;
        sum += q.value(x[static_cast<std::size_t>(from)]) *
               w[static_cast<std::size_t>((o * cin + i) * d.taps() + t)];
      }
    }
    sums.push_back(sum);
  }
}

TEST_P(ProductU8Test, ConvIsExact) {
  std::mt19937 random(2);
  const auto pool = make_thread_pool(2);
  for (int round = 0; round < 150; ++round) {
    const ConvDesc d = random_conv(random);
    const auto& range = kRanges[random() % std::size(kRanges)];
    const auto x = random_bytes(random, d.N * d.D * d.H * d.W * d.Cin);
    const auto w =
        random_weights(random, d.Cout * d.cin_per_group() * d.taps(), range[0], range[1]);
    const Requantise q(random, d.Cout);
    const SharedPackedU8 packed = pack_conv_u8(*kernels_, d, w.data(), oihw_strides(d));
    const auto start = q.starts(*packed);
    const auto factor = q.factors(*packed);
    const std::int64_t pixels = d.N * d.D_out * d.H_out * d.W_out;
    const auto store = static_cast<StoreU8>(random() % 3);
    std::vector<std::uint8_t> y(static_cast<std::size_t>(pixels * d.Cout) *
                                (store == StoreU8::Byte ? 1 : 4));
    std::vector<std::uint8_t> workspace(conv_u8_workspace_bytes(d));
    ConvU8 args;
    args.x = x.data();
    args.outside = static_cast<std::uint8_t>(q.x_zero);
    args.flip = q.flip();
    args.weights = packed.get();
    args.y = y.data();
    args.finish = q.finish(store, start, factor);
    args.workspace = workspace.data();
    conv_u8(d, args, round % 2 ? *pool : serial());
    std::vector<std::int32_t> sums;
    for (std::int64_t p = 0; p < pixels; ++p) {
      const std::int64_t line = p / d.W_out;
      conv_sums(d, x, w, q, line / d.H_out / d.D_out, line / d.H_out % d.D_out, line % d.H_out,
                p % d.W_out, sums);
    }
    SCOPED_TRACE(::testing::Message()
                 << kernels_->name << " round " << round << " " << conv_u8_variant(d));
    expect_stored(y, store, sums, d.Cout, d.Cout, q);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ProductU8Test, ::testing::Range(std::size_t{0}, kMaxChoicesU8));

}  // namespace
}  // namespace treadle::kernels
