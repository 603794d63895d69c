// Layer, RMS, group and instance norm on the device against the operator's eval.
#include "gpu/norm_plan.hpp"

#include "cpu/split.hpp"
#include "gpu_util.hpp"
#include "ops/norm.hpp"

namespace treadle::gpu {
namespace {

using test::expect_close;
using test::GpuRun;
using test::random_tensor;

Tensor on_device(const Tensor& x, std::int64_t first, std::int64_t last, bool center) {
  GpuRun gpu;
  const NormPlan plan(cpu::split_around(x.shape(), first, last), x.dtype(), center, 1e-5);
  const auto in = gpu.put(x), out = gpu.make(x.dtype(), x.shape());
  const auto space = gpu.make(DType::U8, {static_cast<std::int64_t>(plan.workspace_bytes())});
  plan.run(gpu.queue(), in.address(), out.address(), space.address(), "a norm");
  return gpu.get(out);
}

void expect_reference(const Tensor& x, std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> axes;
  for (std::int64_t a = first; a <= last; ++a) axes.push_back(a);
  for (const bool center : {false, true}) {
    expect_close(on_device(x, first, last, center),
                 evaluate(ops::Norm(axes, 1e-5, center), {x}).front(),
                 (center ? "norm of " : "RMS norm of ") + x.shape().str());
  }
}

struct Case {
  Shape shape;
  std::int64_t first, last;
};

void expect_all(const std::vector<Case>& cases) {
  std::uint32_t seed = 1;
  for (const Case& c : cases) {
    for (const DType dtype : {DType::F32, DType::F16}) {
      expect_reference(random_tensor(dtype, c.shape, seed++, -2, 3), c.first, c.last);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(GpuNorm, Rows) {
  expect_all({{{3, 1}, 1, 1},
              {{3, 5}, 1, 1},
              {{9, 64}, 1, 1},
              {{3, 256}, 1, 1},
              {{3, 257}, 1, 1},
              {{9, 768}, 1, 1},
              {{3, 1024}, 1, 1},
              {{3, 1025}, 1, 1},
              {{3, 4096}, 1, 1},
              {{65537, 2}, 1, 1},
              {{3, 5, 6, 7}, 2, 3},
              {{0, 8}, 1, 1},
              {{300, 1100}, 1, 1}});
}

TEST(GpuNorm, Columns) {
  expect_all({{{3, 7, 5}, 1, 1},
              {{2, 100, 64}, 1, 1},
              {{3, 6, 5, 24}, 1, 2},
              {{1025, 3}, 0, 0},
              {{65537, 2}, 0, 0},
              {{1, 1, 40}, 1, 1}});
}

TEST(GpuNorm, LongAndFew) {
  EXPECT_EQ(NormPlan({2, 65537, 1}, DType::F32, true, 1e-5).launches(), 3u);
  EXPECT_EQ(NormPlan({1, 65536, 32}, DType::F32, true, 1e-5).launches(), 3u);
  EXPECT_EQ(NormPlan({64, 4096, 1}, DType::F32, true, 1e-5).launches(), 1u);
  expect_all({{{2, 65537}, 1, 1},
              {{2, 65544}, 1, 1},
              {{1, 5000, 8}, 1, 1},
              {{2, 64, 65, 24}, 1, 2},
              {{1, 5000, 7}, 1, 1}});
}

TEST(GpuNorm, AMeanFarFromZero) {
  for (const Case& c : {Case{{3, 700}, 1, 1}, Case{{3, 3000}, 1, 1}, Case{{1, 40000}, 1, 1},
                        Case{{1, 3000, 5}, 1, 1}}) {
    const Tensor x = random_tensor(DType::F32, c.shape, 4, 99, 101);
    const Tensor want = evaluate(ops::Norm({1}, 1e-5, true), {x}).front();
    // A unit in the last place of the input is 1.3e-5 of its deviation.
    expect_close(on_device(x, 1, 1, true), want, 1e-5, 3e-5, x.shape().str());
  }
}

TEST(GpuNorm, NanStaysInItsRow) {
  for (const Shape& shape : {Shape{3, 50}, Shape{3, 1500}, Shape{3, 40, 6}, Shape{1, 5000, 8}}) {
    Tensor x = random_tensor(DType::F32, shape, 3);
    x.mutable_span<float>()[3] = std::numeric_limits<float>::quiet_NaN();
    expect_reference(x, 1, 1);
  }
}

TEST(GpuNorm, TheSameBitsEveryTime) {
  for (const Shape& shape : {Shape{3, 5001}, Shape{1, 70001}, Shape{1, 5000, 8}}) {
    const Tensor x = random_tensor(DType::F32, shape, 11);
    EXPECT_EQ(on_device(x, 1, 1, true).to_f64(), on_device(x, 1, 1, true).to_f64());
  }
}

}  // namespace
}  // namespace treadle::gpu
