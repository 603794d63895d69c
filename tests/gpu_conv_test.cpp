#include <array>
#include <limits>

#include "gpu/conv_plan.hpp"
#include "gpu_product_util.hpp"

namespace treadle::test {
namespace {

using gpu::ConvPlan;
using kernels::Act;
using kernels::ConvDesc;
using kernels::WeightStrides;

double at(const std::vector<double>& v, std::int64_t i) {
  return v[static_cast<std::size_t>(i)];
}

std::int64_t pixels(const ConvDesc& d) {
  return d.N * d.D_out * d.H_out * d.W_out;
}

// The sum of one output: pixel of an image, channel o.
double window_sum(const ConvDesc& d, const std::vector<double>& x, const std::vector<double>& w,
                  const WeightStrides& s, std::int64_t pixel, std::int64_t o) {
  const std::int64_t column = pixel % d.W_out, row = pixel / d.W_out % d.H_out;
  const std::int64_t slice = pixel / (d.W_out * d.H_out) % d.D_out;
  const std::int64_t image = pixel / (d.W_out * d.H_out * d.D_out);
  const std::int64_t inputs = d.cin_per_group(), first = o / d.cout_per_group() * inputs;
  double sum = 0;
  for (std::int64_t p = 0; p < d.kD; ++p) {
    for (std::int64_t q = 0; q < d.kH; ++q) {
      for (std::int64_t r = 0; r < d.kW; ++r) {
        const std::int64_t z = slice * d.stride_d + p * d.dilation_d - d.pad_front;
        const std::int64_t h = row * d.stride_h + q * d.dilation_h - d.pad_top;
        const std::int64_t c = column * d.stride_w + r * d.dilation_w - d.pad_left;
        if (z < 0 || z >= d.D || h < 0 || h >= d.H || c < 0 || c >= d.W) continue;
        for (std::int64_t i = 0; i < inputs; ++i) {
          sum += at(x, (((image * d.D + z) * d.H + h) * d.W + c) * d.Cin + first + i) *
                 at(w, o * s.o + i * s.i + p * s.d + q * s.h + r * s.w);
        }
      }
    }
  }
  return sum;
}

struct Operands {
  Tensor x, weights;  // weights: f32, with values of the dtype
  WeightStrides strides;
};

Operands operands(const ConvDesc& d, DType type, std::uint32_t seed) {
  Operands r;
  r.x = random_tensor(type, {d.N, d.D, d.H, d.W, d.Cin}, seed);
  const Tensor w = random_tensor(type, {d.Cout * d.cin_per_group() * d.taps()}, seed + 9);
  r.weights = Tensor(DType::F32, w.shape());
  const std::vector<double> values = w.to_f64();
  for (std::size_t i = 0; i < values.size(); ++i) {
    r.weights.mutable_span<float>()[i] = static_cast<float>(values[i]);
  }
  r.strides = seed % 3 == 0   ? kernels::oihw_strides(d)
              : seed % 3 == 1 ? kernels::ohwi_strides(d)
                              : kernels::hwio_strides(d);
  return r;
}

Tensor reference(const ConvDesc& d, const Operands& in, const EpilogueData& e) {
  const std::vector<double> x = in.x.to_f64(), w = in.weights.to_f64(),
                            residual = e.residual.to_f64();
  Tensor y(DType::F64, {pixels(d), d.Cout});
  for (std::int64_t p = 0; p < pixels(d); ++p) {
    for (std::int64_t o = 0; o < d.Cout; ++o) {
      y.mutable_span<double>()[static_cast<std::size_t>(p * d.Cout + o)] =
          e.finish(window_sum(d, x, w, in.strides, p, o), p, o, residual);
    }
  }
  return y;
}

Tensor run(const ConvDesc& d, DType type, const Operands& in, const EpilogueData& e,
           const std::string& variant, std::int64_t first = 0) {
  const ConvPlan plan(d, type, e.desc, variant);
  if (!variant.empty()) {
    EXPECT_EQ(plan.name(), variant);
  }
  ProductRun product(type, pixels(d), d.Cout, e.desc.y_stride, first);
  const auto packed = plan.pack(in.weights.span<float>().data(), in.strides);
  EXPECT_EQ(packed.bytes(), plan.weight_bytes());
  return product(plan, in.x, bytes_tensor(type, packed.span<std::uint8_t>()), e);
}

std::string text(const ConvDesc& d, const std::string& variant, DType type) {
  return fmt::format(
      "{}x{}x{}x{}x{}->{} kernel {}x{}x{} stride {} {} dilation {} {} pad {} {} "
      "group {} out {}x{}, {} {}",
      d.N, d.D, d.H, d.W, d.Cin, d.Cout, d.kD, d.kH, d.kW, d.stride_h, d.stride_w, d.dilation_h,
      d.dilation_w, d.pad_top, d.pad_left, d.group, d.H_out, d.W_out, variant, name_of(type));
}

// Every variant, the tiled ones with K split too.
std::vector<std::string> variants(const ConvDesc& d, DType type) {
  std::vector<std::string> all{""};
  for (const std::string& name : gpu::conv_variants(d, type)) {
    all.push_back(name);
    const std::int64_t k = d.taps() * d.cin_per_group();
    if (name.starts_with("gemm_") && k > 64) all.push_back(name + (k > 128 ? "/3" : "/2"));
  }
  return all;
}

void check_all_variants(const ConvDesc& d, DType type, const EpilogueDesc& epilogue,
                        std::uint32_t seed, std::int64_t first = 0) {
  const Operands in = operands(d, type, seed);
  const EpilogueData e(epilogue, type, pixels(d), d.Cout, seed);
  const Tensor want = reference(d, in, e);
  for (const std::string& variant : variants(d, type)) {
    // K may be too short for as many parts.
    if (variant.find('/') != std::string::npos &&
        ConvPlan(d, type, epilogue, variant).name() != variant) {
      continue;
    }
    expect_product(run(d, type, in, e, variant, first), want, type, text(d, variant, type),
                   epilogue.act == Act::None ? 0 : 10);
  }
}

ConvDesc conv(std::int64_t N, std::int64_t H, std::int64_t W, std::int64_t Cin, std::int64_t Cout,
              std::int64_t kH, std::int64_t kW, std::int64_t stride = 1, std::int64_t group = 1,
              std::int64_t dilation = 1) {
  ConvDesc d;
  d.N = N;
  d.H = H;
  d.W = W;
  d.Cin = Cin;
  d.Cout = Cout;
  d.kH = kH;
  d.kW = kW;
  d.stride_h = d.stride_w = stride;
  d.group = group;
  d.dilation_h = d.dilation_w = dilation;
  d.pad_top = (kH - 1) * dilation / 2;
  d.pad_left = (kW - 1) * dilation / 2;
  d.H_out = (H - 1) / stride + 1;
  d.W_out = (W - 1) / stride + 1;
  return d;
}

TEST(GpuConv, EveryVariantOfPlainShapes) {
  std::uint32_t seed = 100;
  for (const ConvDesc& d :
       {conv(1, 9, 11, 16, 24, 3, 3), conv(3, 5, 7, 20, 10, 3, 3, 2), conv(1, 13, 13, 64, 72, 1, 1),
        conv(1, 20, 18, 3, 16, 3, 3, 2), conv(2, 9, 9, 5, 7, 5, 3), conv(1, 1, 1, 1, 1, 1, 1),
        conv(1, 1, 40, 8, 12, 1, 7), conv(1, 12, 9, 4, 33, 1, 2, 3),
        conv(1, 17, 3, 12, 130, 7, 1)}) {
    for (const DType type : {DType::F32, DType::F16, DType::BF16}) {
      check_all_variants(d, type, {}, ++seed);
    }
  }
}

TEST(GpuConv, GroupsDilationAndPads) {
  std::uint32_t seed = 200;
  ConvDesc uneven = conv(2, 10, 8, 8, 12, 3, 5);
  uneven.pad_top = 0;
  uneven.pad_left = 4;
  uneven.H_out = 11;
  uneven.W_out = 9;
  ConvDesc cropped = conv(1, 12, 12, 8, 8, 3, 3);
  cropped.pad_top = -2;
  cropped.pad_left = -1;
  cropped.H_out = 8;
  cropped.W_out = 10;
  ConvDesc far = conv(1, 4, 4, 4, 8, 2, 2, 3);
  far.pad_top = far.pad_left = 5;
  far.H_out = far.W_out = 5;
  for (const ConvDesc& d :
       {uneven, cropped, far, conv(1, 9, 9, 16, 32, 3, 3, 1, 4), conv(1, 7, 9, 12, 18, 3, 3, 2, 2),
        conv(1, 9, 9, 6, 9, 3, 3, 1, 3), conv(1, 15, 15, 8, 8, 3, 3, 1, 1, 3),
        conv(1, 15, 15, 3, 8, 3, 3, 2, 1, 2), conv(1, 8, 8, 64, 64, 3, 3, 1, 32)}) {
    for (const DType type : {DType::F32, DType::F16}) check_all_variants(d, type, {}, ++seed);
  }
}

TEST(GpuConv, Depthwise) {
  std::uint32_t seed = 300;
  for (const std::int64_t channels : {1, 4, 7, 24, 40}) {
    for (const std::int64_t kernel : {1, 3, 5}) {
      for (const std::int64_t stride : {1, 2, 3}) {
        const DType type = std::array{DType::F32, DType::F16, DType::BF16}[++seed % 3];
        check_all_variants(conv(2, 7, 10, channels, channels, kernel, kernel, stride, channels),
                           type, {}, seed);
      }
    }
    check_all_variants(conv(1, 6, 7, channels, channels, 3, 3, 1, channels), DType::F32, {},
                       ++seed);
    check_all_variants(conv(1, 6, 7, channels, channels, 5, 5, 2, channels), DType::F16, {},
                       ++seed);
  }
  ConvDesc uneven = conv(1, 6, 9, 8, 8, 3, 3, 1, 8);
  uneven.pad_top = 2;
  uneven.pad_left = 0;
  uneven.W_out = 7;
  check_all_variants(uneven, DType::F32, {}, ++seed);
  check_all_variants(conv(1, 8, 8, 8, 24, 3, 3, 1, 8), DType::F32, {}, ++seed);  // multiplier 3
  check_all_variants(conv(1, 9, 9, 5, 10, 3, 5, 2, 5), DType::F16, {}, ++seed);  // and 2
  check_all_variants(conv(1, 20, 20, 8, 8, 3, 3, 1, 8, 4), DType::F32, {}, ++seed);
  check_all_variants(conv(1, 1, 33, 8, 8, 1, 31, 1, 8), DType::F32, {}, ++seed);
}

// Threads that go down several rows add in the order of those with one: the same bits.
TEST(GpuConv, DepthwiseDownTheRows) {
  std::uint32_t seed = 350;
  int compared = 0;
  for (const std::int64_t kernel : {3, 5}) {
    for (const std::int64_t stride : {1, 2}) {
      for (const std::int64_t height : {1, 2, 5, 16, 23}) {
        for (const std::int64_t channels : {2, 12, 40}) {
          ConvDesc d = conv(2, height, 9, channels, channels, kernel, kernel, stride, channels);
          d.pad_top = height % 3;
          d.H_out += 2;  // the last windows may see nothing but padding
          // What needs no more than a clip has a path of its own.
          EpilogueDesc e;
          e.bias = height != 2;
          e.residual = seed % 3 == 0 ? ResidualAt::AfterAct : ResidualAt::None;
          e.act = std::array{Act::None, Act::Relu, Act::Clip, Act::Silu}[seed / 2 % 4];
          e.a = -0.25f;
          e.b = 0.5f;
          e.y_stride = height == 16 ? channels + 4 : 0;
          for (const DType type : {DType::F32, DType::F16}) {
            const Operands in = operands(d, type, ++seed);
            const EpilogueData data(e, type, pixels(d), d.Cout, seed);
            const Tensor want = run(d, type, in, data, "depthwise_any");
            expect_product(want, reference(d, in, data), type, text(d, "any", type), 10);
            for (const std::string& name : gpu::conv_variants(d, type)) {
              if (name.find("d", 10) == std::string::npos) continue;
              EXPECT_EQ(run(d, type, in, data, name).to_f64(), want.to_f64())
                  << text(d, name, type);
              ++compared;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 200);
}

TEST(GpuConv, DepthwiseRing) {
  // Warps whose images do not divide them, groups whose rows go over the edges of images, pads
  // wider than the kernel, columns beyond one tile.
  std::uint32_t seed = 900;
  int compared = 0;
  for (const auto& [images, height, width, channels, top, bottom] :
       {std::array<std::int64_t, 6>{1, 12, 57, 16, 2, 2},
        {3, 1, 7, 8, 2, 2},
        {5, 4, 27, 40, 0, 4},
        {9, 7, 6, 24, 4, 0},
        {2, 6, 125, 8, 7, 2},
        {6, 9, 30, 16, 1, 6},
        {3, 30, 112, 32, 2, 2}}) {
    ConvDesc d = conv(images, height, width, channels, channels, 5, 5, 1, channels);
    d.pad_top = top;
    d.H_out = height + top + bottom - 4;
    EpilogueDesc e;
    e.bias = true;
    e.act = std::array{Act::None, Act::Clip, Act::HardSwish, Act::Silu}[++seed % 4];
    e.y_stride = images == 5 ? channels + 3 : 0;
    e.a = -0.25f;
    e.b = 0.5f;
    const Operands in = operands(d, DType::F16, seed);
    const EpilogueData data(e, DType::F16, pixels(d), d.Cout, seed);
    // A few values that are not finite stay within their windows and channels.
    Operands wild = in;
    wild.x = in.x.clone();
    const std::span values(static_cast<std::uint16_t*>(wild.x.mutable_data()),
                           static_cast<std::size_t>(in.x.elements()));
    for (std::size_t i = 0; i < 4; ++i) {
      values[(seed * 7919 + i * i * 104729) % values.size()] =
          std::array<std::uint16_t, 3>{0x7c00, 0xfc00, 0x7e00}[i % 3];
    }
    const Tensor want = run(d, DType::F16, in, data, "depthwise_any"),
                 spoilt = run(d, DType::F16, wild, data, "depthwise_any");
    for (const std::string& name : gpu::conv_variants(d, DType::F16)) {
      if (name.find("_ring") == std::string::npos) continue;
      const std::string what = text(d, name, DType::F16);
      expect_product(run(d, DType::F16, in, data, name), want, DType::F16, what);
      expect_product(run(d, DType::F16, wild, data, name), spoilt, DType::F16, what + " wild");
      ++compared;
    }
  }
  EXPECT_GT(compared, 30);
}

TEST(GpuConv, Volumes) {
  ConvDesc d = conv(2, 5, 6, 4, 10, 3, 3);
  d.D = 4;
  d.kD = 3;
  d.pad_front = 1;
  d.stride_d = 2;
  d.D_out = 2;
  check_all_variants(d, DType::F32, {}, 400);
  check_all_variants(d, DType::F16, {}, 401);
  d.group = 2;
  d.dilation_d = 2;
  d.D_out = 1;
  check_all_variants(d, DType::F32, {}, 402);
  ConvDesc flat = conv(1, 5, 6, 8, 12, 3, 3);  // slices on their own
  flat.D = flat.D_out = 3;
  check_all_variants(flat, DType::F32, {}, 403);
  EXPECT_NE(ConvPlan(flat, DType::F32).name(), "direct");
  ConvDesc point = conv(2, 5, 6, 8, 12, 1, 1);
  point.D = point.D_out = 3;
  check_all_variants(point, DType::F32, {}, 404);
}

TEST(GpuConv, RandomShapes) {
  std::mt19937 random(7);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  for (int i = 0; i < 24; ++i) {
    const std::int64_t group = pick(0, 3) == 0 ? pick(1, 5) : 1;
    const std::int64_t inputs = pick(0, 1) ? pick(1, 6) * 4 : pick(1, 9);
    ConvDesc d = conv(pick(1, 3), pick(1, 12), pick(1, 14), group * inputs, group * pick(1, 20),
                      pick(1, 5), pick(1, 5), 1, group);
    d.stride_h = pick(1, 4);
    d.stride_w = pick(1, 4);
    d.dilation_h = pick(1, 2);
    d.dilation_w = pick(1, 3);
    d.pad_top = pick(-1, 4);
    d.pad_left = pick(-1, 4);
    d.H_out = pick(1, 6);
    d.W_out = pick(1, 9);
    EpilogueDesc e;
    e.bias = pick(0, 1);
    e.act = static_cast<Act>(pick(0, 6));
    e.a = 0.25f;
    e.b = 0.5f;
    e.residual = static_cast<ResidualAt>(pick(0, 2));
    const std::int64_t first = pick(0, 5);
    if (pick(0, 1)) e.y_stride = d.Cout + first + pick(0, 4);
    check_all_variants(d, pick(0, 1) ? DType::F32 : DType::F16, e,
                       static_cast<std::uint32_t>(1000 + pick(0, 999)), e.y_stride ? first : 0);
  }
}

TEST(GpuConv, EveryActivation) {
  std::uint32_t seed = 500;
  // Tiles, tiles in parts, without tiles, depthwise.
  const ConvDesc tiled = conv(1, 6, 6, 24, 20, 3, 3), depthwise = conv(1, 6, 6, 8, 8, 3, 3, 1, 8);
  for (int act = 0; act <= static_cast<int>(Act::Elu); ++act) {
    for (const float a : {0.0f, 0.125f}) {
      if (a == 0.0f && static_cast<Act>(act) != Act::Gelu) continue;
      EpilogueDesc e;
      e.bias = true;
      e.act = static_cast<Act>(act);
      e.a = a;
      e.b = 0.5f;
      for (const ResidualAt residual :
           {ResidualAt::None, ResidualAt::BeforeAct, ResidualAt::AfterAct}) {
        e.residual = residual;
        for (const ConvDesc& d : {tiled, depthwise}) {
          const Operands in = operands(d, DType::F32, ++seed);
          const EpilogueData data(e, DType::F32, pixels(d), d.Cout, seed);
          const Tensor want = reference(d, in, data);
          const std::vector<std::string> names =
              d.group > 1 ? std::vector<std::string>{"depthwise_3x3s1_v4o2", "depthwise_any"}
                          : std::vector<std::string>{"gemm_32x32", "gemm_64x64/2", "direct"};
          for (const std::string& name : names) {
            expect_product(
                run(d, DType::F32, in, data, name), want, DType::F32,
                fmt::format("act {} a {} residual {} {}", act, a, static_cast<int>(residual), name),
                20);
          }
        }
      }
    }
  }
}

TEST(GpuConv, SlicesOfWiderTensors) {
  std::uint32_t seed = 600;
  for (const std::int64_t first : {0, 3, 4, 8}) {
    EpilogueDesc e;
    e.bias = true;
    e.residual = ResidualAt::BeforeAct;
    e.act = Act::Relu;
    e.y_stride = 40;
    e.residual_stride = 28;
    check_all_variants(conv(1, 5, 5, 16, 24, 3, 3), DType::F32, e, ++seed, first);
    check_all_variants(conv(1, 5, 5, 24, 24, 3, 3, 1, 24), DType::F16, e, ++seed, first);
  }
}

TEST(GpuConv, NanStaysWhereItIsSeen) {
  const ConvDesc d = conv(1, 7, 7, 8, 8, 3, 3);
  Operands in = operands(d, DType::F32, 700);
  in.x.mutable_span<float>()[3 * 7 * 8 + 4 * 8 + 2] = std::numeric_limits<float>::quiet_NaN();
  EpilogueDesc e;
  for (const Act act : {Act::None, Act::Relu, Act::Clip, Act::HardSwish, Act::Silu, Act::Gelu}) {
    e.act = act;
    e.a = -1;
    e.b = 1;
    const EpilogueData data(e, DType::F32, pixels(d), d.Cout, 1);
    const Tensor want = reference(d, in, data);
    int nans = 0;
    for (const double v : want.to_f64()) nans += std::isnan(v);
    EXPECT_EQ(nans, 9 * 8);
    for (const std::string& variant : gpu::conv_variants(d, DType::F32)) {
      expect_product(run(d, DType::F32, in, data, variant), want, DType::F32, variant);
    }
  }
}

TEST(GpuConv, TheSameBitsEveryTime) {
  const ConvDesc d = conv(1, 9, 9, 32, 24, 3, 3);
  const Operands in = operands(d, DType::F32, 800);
  const EpilogueData e({}, DType::F32, pixels(d), d.Cout, 1);
  for (const std::string& variant : variants(d, DType::F32)) {
    const Tensor first = run(d, DType::F32, in, e, variant);
    const Tensor again = run(d, DType::F32, in, e, variant);
    EXPECT_EQ(first.to_f64(), again.to_f64()) << variant;
  }
}

TEST(GpuConv, EmptyResults) {
  ConvDesc d = conv(0, 4, 4, 4, 4, 3, 3);
  EXPECT_TRUE(ConvPlan(d, DType::F32).prepare({}, 0, "test").empty());
  d = conv(1, 4, 4, 4, 4, 3, 3);
  d.W_out = 0;
  EXPECT_TRUE(ConvPlan(d, DType::F32).prepare({}, 0, "test").empty());
}

ErrorKind kind_of(const ConvDesc& d, DType type, const EpilogueDesc& e, std::string_view variant) {
  try {
    const ConvPlan plan(d, type, e, variant);
  } catch (const Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "no error";
  return ErrorKind::Internal;
}

TEST(GpuConv, Errors) {
  const ConvDesc d = conv(1, 4, 4, 4, 4, 3, 3);
  EXPECT_EQ(kind_of(d, DType::I32, {}, ""), ErrorKind::Unsupported);
  EXPECT_EQ(kind_of(d, DType::F32, {}, "depthwise_any"), ErrorKind::Unsupported);
  EXPECT_EQ(kind_of(d, DType::F32, {}, "gemm_32x32/0"), ErrorKind::Unsupported);
  EXPECT_EQ(kind_of(d, DType::F32, {}, "gemm_32x32/99999999999"), ErrorKind::Unsupported);
  EpilogueDesc narrow;
  narrow.y_stride = 3;
  EXPECT_EQ(kind_of(d, DType::F32, narrow, ""), ErrorKind::Shape);
  ConvDesc wide = d;
  wide.W = wide.W_out = std::int64_t{1} << 35;
  EXPECT_EQ(kind_of(wide, DType::F32, {}, ""), ErrorKind::Unsupported);
}

// 2^31 elements and more an image are not for kernels with 31-bit offsets.
TEST(GpuConv, LargeImagesGoWithoutTiles) {
  const ConvDesc d = conv(1, 30000, 30000, 4, 8, 3, 3);
  EXPECT_EQ(ConvPlan(d, DType::F32).name(), "direct");
}

TEST(GpuConv, ChoiceByShape) {
  EXPECT_TRUE(ConvPlan(conv(1, 14, 14, 256, 512, 3, 3), DType::F32).name().starts_with("gemm_"));
  EXPECT_NE(ConvPlan(conv(1, 14, 14, 256, 512, 3, 3), DType::F32).name().find('/'),
            std::string::npos);
  EXPECT_EQ(ConvPlan(conv(32, 56, 56, 64, 128, 3, 3), DType::F32).name().find('/'),
            std::string::npos);
  EXPECT_TRUE(
      ConvPlan(conv(1, 224, 224, 3, 32, 3, 3, 2), DType::F32).name().starts_with("gemm_any_"));
  EXPECT_TRUE(ConvPlan(conv(1, 56, 56, 144, 144, 3, 3, 1, 144), DType::F32)
                  .name()
                  .starts_with("depthwise_3x3s1"));
  EXPECT_EQ(ConvPlan(conv(1, 14, 14, 128, 128, 3, 3, 1, 32), DType::F32).name(), "direct");
}

}  // namespace
}  // namespace treadle::test
