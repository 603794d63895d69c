// Softmax and log-softmax on the device against the operator's eval.
#include "gpu/softmax_plan.hpp"

#include "cpu/split.hpp"
#include "gpu_util.hpp"
#include "ops/softmax.hpp"

namespace treadle::gpu {
namespace {

using test::expect_close;
using test::GpuRun;
using test::random_tensor;

Tensor on_device(const Tensor& x, std::int64_t first, std::int64_t last, bool log) {
  GpuRun gpu;
  const auto in = gpu.put(x), out = gpu.make(x.dtype(), x.shape());
  SoftmaxPlan(cpu::split_around(x.shape(), first, last), x.dtype(), log)
      .run(gpu.queue(), in.address(), out.address(), "a softmax");
  return gpu.get(out);
}

void expect_reference(const Tensor& x, std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> axes;
  for (std::int64_t a = first; a <= last; ++a) axes.push_back(a);
  for (const bool log : {false, true}) {
    expect_close(on_device(x, first, last, log), evaluate(ops::Softmax(axes, log), {x}).front(),
                 (log ? "log-softmax of " : "softmax of ") + x.shape().str());
  }
}

TEST(GpuSoftmax, EveryKindOfShape) {
  struct {
    Shape shape;
    std::int64_t first, last;
  } const cases[] = {{{1}, 0, 0},         {{3, 5}, 1, 1},       {{9, 32}, 1, 1},
                     {{3, 255}, 1, 1},    {{3, 256}, 1, 1},     {{3, 257}, 1, 1},
                     {{9, 1000}, 1, 1},   {{3, 1024}, 1, 1},    {{3, 1025}, 1, 1},
                     {{3, 2048}, 1, 1},   {{1, 65537}, 1, 1},   {{2, 65544}, 1, 1},
                     {{65537, 2}, 0, 0},  {{65537, 2}, 1, 1},   {{3, 1025, 7}, 1, 1},
                     {{3, 21, 40}, 1, 1}, {{3, 4, 5, 6}, 1, 2}, {{2, 3, 16, 16}, 2, 3},
                     {{3, 0, 4}, 1, 1},   {{0, 4}, 1, 1},       {{300, 1100}, 1, 1}};
  std::uint32_t seed = 1;
  for (const auto& c : cases) {
    for (const DType dtype : {DType::F32, DType::F16}) {
      expect_reference(random_tensor(dtype, c.shape, seed++, -6, 6), c.first, c.last);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(GpuSoftmax, NansAndInfinities) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const float special : {std::numeric_limits<float>::quiet_NaN(), inf, -inf, 1e30f, -1e30f}) {
    for (const Shape& shape : {Shape{3, 100}, Shape{3, 1500}, Shape{3, 1501}, Shape{3, 40, 5}}) {
      Tensor x = random_tensor(DType::F32, shape, 3);
      const auto v = x.mutable_span<float>();
      v[0] = v[7] = special;
      for (std::int64_t i = 0; i < shape[1]; ++i) {
        v[static_cast<std::size_t>(x.elements() - 1 - i)] = special;  // at least a whole row
      }
      expect_reference(x, 1, 1);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(GpuSoftmax, LargeValuesDoNotOverflow) {
  for (const std::int64_t n : {40, 1500}) {
    expect_reference(random_tensor(DType::F32, {3, n}, 3, 900, 1000), 1, 1);
    expect_reference(random_tensor(DType::F32, {3, n, 2}, 3, -1000, -900), 1, 1);
  }
}

TEST(GpuSoftmax, TheSameBitsEveryTime) {
  const Tensor x = random_tensor(DType::F32, {3, 5001}, 11);
  EXPECT_EQ(on_device(x, 1, 1, false).to_f64(), on_device(x, 1, 1, false).to_f64());
}

TEST(GpuSoftmax, AnInputThatIsNotAligned) {
  for (const std::int64_t n : {64, 512, 2048}) {
    const Tensor x = random_tensor(DType::F32, {1 + n}, 12);
    Tensor tail(DType::F32, {1, n});
    std::copy_n(x.span<float>().data() + 1, n, tail.mutable_span<float>().data());
    GpuRun gpu;
    const auto in = gpu.put(x), out = gpu.make(DType::F32, {1, n});
    SoftmaxPlan(cpu::split_around({1, n}, 1, 1), DType::F32, false)
        .run(gpu.queue(), in.address() + 4, out.address(), "a softmax");
    expect_close(gpu.get(out), evaluate(ops::Softmax({1}, false), {tail}).front(), "unaligned");
  }
}

}  // namespace
}  // namespace treadle::gpu
