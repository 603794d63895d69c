// Cumulative sums and products on the device against the operator's eval.
#include "gpu/cumulative_plan.hpp"

#include "gpu_util.hpp"

namespace treadle::gpu {
namespace {

using ops::CumulativeFn;
using test::expect_close;
using test::GpuRun;
using test::random_tensor;

Tensor on_device(const ops::Cumulative& op, const Tensor& x) {
  GpuRun gpu;
  const auto in = gpu.put(x), out = gpu.make(x.dtype(), x.shape());
  CumulativePlan(op, x.dtype(), x.shape())
      .run(gpu.queue(), in.address(), out.address(), "a cumulative sum");
  return gpu.get(out);
}

void expect_reference(const Tensor& x, std::int64_t axis, double relative, double absolute) {
  for (const CumulativeFn fn : {CumulativeFn::Sum, CumulativeFn::Prod}) {
    for (int form = 0; form < 4; ++form) {
      const ops::Cumulative op(fn, axis, form % 2 == 1, form >= 2);
      expect_close(on_device(op, x), evaluate(op, {x}).front(), relative, absolute,
                   x.shape().str() + " form " + std::to_string(form));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(GpuCumulative, EveryKindOfShape) {
  struct {
    Shape shape;
    std::int64_t axis;
  } const cases[] = {{{1}, 0},       {{33}, 0},      {{3, 32}, 1},   {{3, 1023}, 1},
                     {{3, 1024}, 1}, {{3, 1025}, 1}, {{1025, 3}, 0}, {{1025, 3}, 1},
                     {{3, 7, 5}, 1}, {{0, 5}, 1},    {{3, 0, 5}, 1}, {{3, 300, 70}, 1}};
  std::uint32_t seed = 1;
  for (const auto& c : cases) {
    expect_reference(random_tensor(DType::F32, c.shape, seed++, 0.9, 1.1), c.axis, 1e-5, 1e-5);
    expect_reference(random_tensor(DType::F16, c.shape, seed++, 0.9, 1.1), c.axis, 2e-3, 2e-3);
    if (HasFatalFailure()) return;
  }
}

// The reference adds one after the other: its own error grows with the length.
TEST(GpuCumulative, LongAxes) {
  expect_reference(random_tensor(DType::F32, {2, 65537}, 5, 0.9, 1.1), 1, 2e-5, 1e-5);
  expect_reference(random_tensor(DType::F32, {65537, 2}, 6, 0.9, 1.1), 0, 2e-5, 1e-5);
  // Whole numbers are exact.
  Tensor ones(DType::F32, {65537});
  for (float& v : ones.mutable_span<float>()) v = 1;
  const Tensor sums = on_device(ops::Cumulative(CumulativeFn::Sum, 0), ones);
  EXPECT_EQ(sums.span<float>()[65536], 65537.0f);
  EXPECT_EQ(sums.span<float>()[1024], 1025.0f);
}

TEST(GpuCumulative, NanStaysFromItsPlaceOn) {
  Tensor x = random_tensor(DType::F32, {2, 3000}, 7, 0.9, 1.1);
  x.mutable_span<float>()[1500] = std::numeric_limits<float>::quiet_NaN();
  expect_reference(x, 1, 1e-5, 1e-5);
}

}  // namespace
}  // namespace treadle::gpu
