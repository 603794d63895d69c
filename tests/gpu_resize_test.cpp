// Resizes on the device against the operator's eval.
#include "gpu/resize_plan.hpp"

#include "base/error.hpp"
#include "gpu_util.hpp"

namespace treadle::gpu {
namespace {

using ops::Coordinates;
using ops::NearestRound;
using ops::Resize;
using ops::ResizeMode;
using test::expect_close;
using test::GpuRun;
using test::random_tensor;

Resize resize(ResizeMode mode, const Shape& to, Coordinates coordinates = Coordinates::HalfPixel) {
  Resize op;
  op.mode = mode;
  op.coordinates = coordinates;
  for (const std::int64_t d : to) op.sizes.push_back(d);
  return op;
}

void expect_reference(const Resize& op, const Tensor& x, const std::string& what) {
  const Tensor want = evaluate(op, {x}).front();
  GpuRun gpu;
  const ResizePlan plan(test::gpu_device(), op, x.dtype(), x.shape(), want.shape());
  const auto in = gpu.put(x), out = gpu.make(x.dtype(), want.shape());
  const auto space = gpu.make(DType::U8, {static_cast<std::int64_t>(plan.workspace_bytes())});
  plan.run(gpu.queue(), in.address(), out.address(), space.address(), "a resize");
  expect_close(gpu.get(out), want, what + " of " + x.shape().str() + " to " + want.shape().str());
}

constexpr Coordinates kPlain[] = {Coordinates::HalfPixel, Coordinates::HalfPixelSymmetric,
                                  Coordinates::PytorchHalfPixel, Coordinates::AlignCorners,
                                  Coordinates::Asymmetric};

struct Case {
  Shape from, to;
};
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {{{1, 3, 5, 7}, {1, 3, 10, 14}},
                                        {{3, 2, 9, 5}, {3, 2, 4, 3}},
                                        {{1, 5, 7, 8}, {1, 9, 13, 8}},
                                        {{2, 5, 7, 24}, {2, 3, 13, 24}},
                                        {{1, 5, 7, 3}, {1, 10, 14, 3}},
                                        {{3, 5, 4}, {3, 11, 4}},
                                        {{4, 9}, {4, 20}},
                                        {{1, 1, 1, 4}, {1, 5, 3, 4}},
                                        {{3, 4, 5, 6}, {3, 4, 5, 6}},
                                        {{2, 3, 4, 5, 6}, {2, 3, 7, 9, 3}},
                                        {{3, 4, 5, 6}, {5, 4, 5, 9}},
                                        {{1, 1025}, {1, 65537}},
                                        {{65537, 2}, {1025, 2}},
                                        {{7}, {0}}};
  return all;
}

TEST(GpuResize, Nearest) {
  std::uint32_t seed = 1;
  for (const Case& c : cases()) {
    for (const Coordinates coordinates : kPlain) {
      for (const NearestRound round :
           {NearestRound::RoundPreferFloor, NearestRound::RoundPreferCeil, NearestRound::Floor,
            NearestRound::Ceil}) {
        Resize op = resize(ResizeMode::Nearest, c.to, coordinates);
        op.nearest = round;
        const DType dtype = seed % 2 ? DType::F32 : seed % 4 ? DType::F16 : DType::U8;
        expect_reference(op, random_tensor(dtype, c.from, seed++, 0, 100), "nearest");
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(GpuResize, LinearAndCubic) {
  std::uint32_t seed = 1;
  for (const Case& c : cases()) {
    for (const Coordinates coordinates : kPlain) {
      for (const ResizeMode mode : {ResizeMode::Linear, ResizeMode::Cubic}) {
        const DType dtype = seed % 3 ? DType::F32 : DType::F16;
        Resize op = resize(mode, c.to, coordinates);
        expect_reference(op, random_tensor(dtype, c.from, seed++),
                         mode == ResizeMode::Linear ? "linear" : "cubic");
        op.exclude_outside = true;
        expect_reference(op, random_tensor(dtype, c.from, seed++), "cut at the edge");
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(GpuResize, Antialiased) {
  for (const ResizeMode mode : {ResizeMode::Linear, ResizeMode::Cubic}) {
    Resize op = resize(mode, {1, 3, 4, 5});
    op.antialias = true;
    expect_reference(op, random_tensor(DType::F32, {1, 3, 17, 16}, 3), "antialiased");
    op = resize(mode, {1, 4, 5, 8});
    op.antialias = true;
    expect_reference(op, random_tensor(DType::F16, {1, 17, 16, 8}, 4), "antialiased");
  }
}

TEST(GpuResize, CroppedWithWhatLiesOutside) {
  for (const ResizeMode mode : {ResizeMode::Nearest, ResizeMode::Linear, ResizeMode::Cubic}) {
    for (const DType dtype : {DType::F32, DType::F16}) {
      Resize op = resize(mode, {1, 6, 7, 3}, Coordinates::TfCropAndResize);
      op.roi = {0, -0.25, 0.1, 0, 1, 0.8, 1.5, 1};
      op.extrapolation = 4.5;
      expect_reference(op, random_tensor(dtype, {1, 9, 8, 3}, 5), "a crop");
    }
  }
}

TEST(GpuResize, Scales) {
  for (const ResizeMode mode : {ResizeMode::Nearest, ResizeMode::Linear, ResizeMode::Cubic}) {
    Resize op = resize(mode, {1, 2, 8, 7}, Coordinates::Asymmetric);
    op.scales = {1, 1, 1.7, 0.8};
    expect_reference(op, random_tensor(DType::F32, {1, 2, 5, 9}, 6), "by scales");
  }
}

TEST(GpuResize, NanAndInfinityStayWhereTheyAreRead) {
  for (const ResizeMode mode : {ResizeMode::Nearest, ResizeMode::Linear}) {
    for (const Shape& to : {Shape{1, 9, 9, 4}, Shape{1, 5, 9, 4}, Shape{1, 10, 10, 4}}) {
      Tensor x = random_tensor(DType::F32, {1, 5, 5, 4}, 7);
      x.mutable_span<float>()[50] = std::numeric_limits<float>::quiet_NaN();
      x.mutable_span<float>()[10] = std::numeric_limits<float>::infinity();
      expect_reference(resize(mode, to, Coordinates::AlignCorners), x, "special values");
    }
  }
}

TEST(GpuResize, LaunchesAndWhatIsRefused) {
  const auto plan = [](const Shape& from, const Shape& to) {
    return ResizePlan(test::gpu_device(), resize(ResizeMode::Linear, to), DType::F32, from, to);
  };
  EXPECT_EQ(plan({1, 3, 8, 8}, {1, 3, 16, 16}).launches(), 1u);
  EXPECT_EQ(plan({1, 3, 8, 8, 8}, {1, 3, 16, 16, 16}).launches(), 2u);
  EXPECT_EQ(why_no_resize(resize(ResizeMode::Linear, {1}), DType::F16), "");
  EXPECT_EQ(why_no_resize(resize(ResizeMode::Nearest, {1}), DType::U8), "");
  EXPECT_NE(why_no_resize(resize(ResizeMode::Linear, {1}), DType::U8), "");
  EXPECT_NE(why_no_resize(resize(ResizeMode::Nearest, {1}), DType::String), "");
  EXPECT_THROW(plan({0, 4}, {3, 4}), Error);
}

}  // namespace
}  // namespace treadle::gpu
