// Reductions and arg-reductions on the device against the operators' eval.
#include "gpu/reduce_plan.hpp"

#include "base/error.hpp"
#include "gpu_util.hpp"

namespace treadle::gpu {
namespace {

using ops::ReduceFn;
using test::expect_close;
using test::GpuRun;
using test::random_tensor;
using Axes = std::vector<std::int64_t>;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

constexpr ReduceFn kNumeric[] = {
    ReduceFn::Sum,       ReduceFn::Mean, ReduceFn::Prod, ReduceFn::Min,    ReduceFn::Max,
    ReduceFn::SumSquare, ReduceFn::L1,   ReduceFn::L2,   ReduceFn::LogSum, ReduceFn::LogSumExp};

Shape reduced(Shape s, const Axes& axes) {
  for (const std::int64_t a : axes) s[static_cast<std::size_t>(a)] = 1;
  return s;
}

Tensor on_device(ReduceFn fn, const Tensor& x, const Axes& axes) {
  GpuRun gpu;
  const ReducePlan plan(fn, x.dtype(), x.shape(), axes);
  const auto in = gpu.put(x);
  const auto out = gpu.make(x.dtype(), reduced(x.shape(), axes));
  const auto space = gpu.make(DType::U8, {static_cast<std::int64_t>(plan.workspace_bytes())});
  plan.run(gpu.queue(), in.address(), out.address(), space.address(), "a reduction");
  return gpu.get(out);
}

Tensor reference(ReduceFn fn, const Tensor& x, const Axes& axes) {
  return evaluate(ops::Reduce(fn, axes), {x}).front();
}

// Sums are compared beside the size of what is added: their terms cancel.
void expect_reference(ReduceFn fn, const Tensor& x, const Axes& axes) {
  const Tensor want = reference(fn, x, axes);
  const double relative = x.dtype() == DType::F16 ? 2e-3 : x.dtype() == DType::F32 ? 1e-5 : 0;
  const double each = want.elements() == 0 ? 0
                                           : static_cast<double>(x.elements()) /
                                                 static_cast<double>(want.elements());
  const double absolute = relative * (fn == ReduceFn::Sum ? 1 + 1e-3 * each : 1);
  expect_close(on_device(fn, x, axes), want, relative, absolute,
               std::string(ops::name_of(fn)) + " of " + x.shape().str());
}

Tensor input_of(ReduceFn fn, DType dtype, const Shape& shape, std::uint32_t seed) {
  if (fn == ReduceFn::LogSum) return random_tensor(dtype, shape, seed, 0.5, 2);
  if (fn == ReduceFn::Prod) return random_tensor(dtype, shape, seed, 0.9, 1.1);
  return random_tensor(dtype, shape, seed);
}

struct Case {
  Shape shape;
  Axes axes;
};

TEST(GpuReduce, EveryFunctionOnEveryKindOfShape) {
  const std::vector<Case> cases = {{{7}, {0}},
                                   {{1}, {0}},
                                   {{5, 3}, {1}},
                                   {{3, 31}, {1}},
                                   {{3, 32}, {1}},
                                   {{9, 33}, {1}},
                                   {{3, 1025}, {1}},
                                   {{3, 1024}, {1}},
                                   {{2, 65537}, {1}},
                                   {{65537, 2}, {0}},
                                   {{1025, 3}, {1}},
                                   {{1025, 3}, {0}},
                                   {{2, 9, 64}, {1}},
                                   {{3, 50, 8}, {1}},
                                   {{1, 2000, 16}, {1}},
                                   {{3, 5, 7, 9}, {0, 2}},
                                   {{3, 5, 7, 9}, {1, 3}},
                                   {{3, 5, 7, 9}, {0, 3}},
                                   {{3, 5, 1, 9}, {2}},
                                   {{2, 4, 4, 6}, {1, 2}},
                                   {{3, 4}, {0, 1}},
                                   {{1, 1, 1}, {0, 1, 2}}};
  std::uint32_t seed = 1;
  for (const Case& c : cases) {
    for (const ReduceFn fn : kNumeric) {
      for (const DType dtype : {DType::F32, DType::F16}) {
        expect_reference(fn, input_of(fn, dtype, c.shape, seed++), c.axes);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(GpuReduce, LongRowsAndColumnsAreCutInSegments) {
  EXPECT_EQ(ReducePlan(ReduceFn::Sum, DType::F32, {1, 65536}, {1}).launches(), 2u);
  EXPECT_EQ(ReducePlan(ReduceFn::Sum, DType::F32, {65537, 4}, {0}).launches(), 2u);
  EXPECT_EQ(ReducePlan(ReduceFn::Sum, DType::F32, {1000, 1024}, {1}).launches(), 1u);
  EXPECT_EQ(ReducePlan(ReduceFn::Sum, DType::F32, {2, 3, 4, 5}, {0, 2}).launches(), 2u);
  for (const DType dtype : {DType::F32, DType::F16}) {
    for (const std::int64_t n : {65536, 65537, 65544}) {
      expect_reference(ReduceFn::Mean, random_tensor(dtype, {1, n}, 3), {1});
      expect_reference(ReduceFn::LogSumExp, random_tensor(dtype, {n, 8}, 4), {0});
      expect_reference(ReduceFn::Min, random_tensor(dtype, {n, 3}, 5), {0});
    }
  }
}

TEST(GpuReduce, ManyColumnsGoByVectors) {
  std::uint32_t seed = 900;
  for (const DType dtype : {DType::F32, DType::F16}) {
    for (const ReduceFn fn : {ReduceFn::Mean, ReduceFn::Max, ReduceFn::LogSumExp}) {
      const Shape shape{1, 67, dtype == DType::F32 ? 4100 : 8200};
      expect_reference(fn, input_of(fn, dtype, shape, ++seed), {1});
    }
  }
}

TEST(GpuReduce, EmptyReductionsGiveTheIdentity) {
  for (const ReduceFn fn : kNumeric) {
    expect_reference(fn, Tensor(DType::F32, {3, 0, 4}), {1});
    expect_reference(fn, Tensor(DType::F16, {0, 3, 0}), {0, 2});
    expect_reference(fn, Tensor(DType::F32, {3, 0, 4}), {0});
  }
  EXPECT_EQ(on_device(ReduceFn::Max, Tensor(DType::F32, {0}), {0}).to_f64().front(), -kInf);
  EXPECT_EQ(on_device(ReduceFn::Min, Tensor(DType::F32, {0}), {0}).to_f64().front(), kInf);
  EXPECT_EQ(on_device(ReduceFn::Prod, Tensor(DType::F32, {0}), {0}).to_f64().front(), 1);
}

TEST(GpuReduce, MeanOfManyTwosInHalfIsTwo) {
  Tensor x(DType::F16, {70000});
  for (Half& h : x.mutable_span<Half>()) h = Half(2.0f);
  EXPECT_EQ(on_device(ReduceFn::Mean, x, {0}).to_f64().front(), 2.0);
}

TEST(GpuReduce, NansAndInfinities) {
  for (const ReduceFn fn : kNumeric) {
    if (fn == ReduceFn::LogSum) continue;
    for (const float special : {kNan, kInf, -kInf}) {
      for (const Shape& shape : {Shape{3, 1025}, Shape{1025, 3}, Shape{5, 6}}) {
        for (const Axes& axes : {Axes{0}, Axes{1}}) {
          Tensor x = random_tensor(DType::F32, shape, 9, 0.5, 1.5);
          x.mutable_span<float>()[4] = special;
          x.mutable_span<float>()[static_cast<std::size_t>(shape[1])] = -special;
          expect_reference(fn, x, axes);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  Tensor none(DType::F32, {40});
  for (float& v : none.mutable_span<float>()) v = -kInf;
  EXPECT_EQ(on_device(ReduceFn::LogSumExp, none, {0}).to_f64().front(), -kInf);
  EXPECT_EQ(on_device(ReduceFn::Max, none, {0}).to_f64().front(), -kInf);
}

TEST(GpuReduce, Bools) {
  for (const ReduceFn fn : {ReduceFn::Any, ReduceFn::All, ReduceFn::Max, ReduceFn::Min}) {
    for (const double share : {0.0, 0.5, 1.0}) {
      Tensor x = random_tensor(DType::Bool, {7, 1025}, 3, 0, 1);
      if (share != 0.5) {
        for (bool& b : x.mutable_span<bool>()) b = share == 1.0;
        x.mutable_span<bool>()[3000] = share == 0.0;
      }
      expect_reference(fn, x, {1});
      expect_reference(fn, x, {0});
    }
    expect_reference(fn, Tensor(DType::Bool, {3, 0}), {1});
  }
  EXPECT_EQ(why_no_reduce(ReduceFn::Any, DType::Bool), "");
  EXPECT_NE(why_no_reduce(ReduceFn::Sum, DType::I64), "");
}

TEST(GpuReduce, TheSameBitsEveryTime) {
  const Tensor x = random_tensor(DType::F32, {2, 70001}, 11);
  const Tensor a = on_device(ReduceFn::Sum, x, {1}), b = on_device(ReduceFn::Sum, x, {1});
  EXPECT_EQ(a.to_f64(), b.to_f64());
}

TEST(GpuReduce, AnInputThatIsNotAligned) {
  const Tensor x = random_tensor(DType::F32, {1 + 4 * 64}, 12);
  Tensor tail(DType::F32, {4, 64});
  std::copy_n(x.span<float>().data() + 1, 256, tail.mutable_span<float>().data());
  GpuRun gpu;
  const auto in = gpu.put(x), out = gpu.make(DType::F32, {4, 1});
  const ReducePlan plan(ReduceFn::L1, DType::F32, tail.shape(), {1});
  ASSERT_EQ(plan.launches(), 1u);
  plan.run(gpu.queue(), in.address() + 4, out.address(), out.address(), "a reduction");
  expect_close(gpu.get(out), reference(ReduceFn::L1, tail, {1}), "beside 16 bytes");
}

TEST(GpuReduce, TooLargeIsRefused) {
  EXPECT_THROW(ReducePlan(ReduceFn::Sum, DType::F32, {std::int64_t{1} << 32}, {0}), Error);
  EXPECT_THROW(ReducePlan(ReduceFn::Sum, DType::F32, {std::int64_t{1} << 32, 2}, {1}), Error);
}

void expect_arg(bool max, bool last, const Tensor& x, std::int64_t axis) {
  const ops::ArgReduce op(max, axis, last);
  GpuRun gpu;
  const auto in = gpu.put(x), out = gpu.make(DType::I64, reduced(x.shape(), {axis}));
  ArgReducePlan(op, x.dtype(), x.shape())
      .run(gpu.queue(), in.address(), out.address(), "an arg-reduction");
  expect_close(gpu.get(out), evaluate(op, {x}).front(),
               (max ? "largest of " : "smallest of ") + x.shape().str());
}

TEST(GpuArgReduce, EveryKindOfShape) {
  struct {
    Shape shape;
    std::int64_t axis;
  } const cases[] = {{{1}, 0},         {{7}, 0},        {{3, 1025}, 1},  {{1025, 3}, 0},
                     {{2, 65537}, 1},  {{65537, 2}, 0}, {{65537, 3}, 1}, {{3, 21, 19}, 1},
                     {{3, 21, 64}, 2}, {{0, 4}, 1},     {{3, 1, 4}, 1}};
  std::uint32_t seed = 1;
  for (const auto& c : cases) {
    for (const DType dtype : {DType::F32, DType::F16}) {
      // Few different values, so that there are equals.
      Tensor x = random_tensor(dtype, c.shape, seed++, -4, 4);
      dispatch(dtype, [&]<typename T>(T) {
        if constexpr (std::is_same_v<T, float> || std::is_same_v<T, Half>) {
          for (T& v : x.mutable_span<T>()) v = T(std::floor(static_cast<float>(v)));
        }
      });
      for (const bool max : {true, false}) {
        for (const bool last : {true, false}) {
          expect_arg(max, last, x, c.axis);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(GpuArgReduce, NansAndInfinities) {
  for (const bool max : {true, false}) {
    for (const bool last : {true, false}) {
      for (const std::int64_t axis : {0, 1}) {
        Tensor x = random_tensor(DType::F32, {40, 1025}, 5);
        const auto v = x.mutable_span<float>();
        v[5] = v[2000] = v[1030] = v[1040] = kNan;
        v[7] = v[3000] = kInf;
        v[5000] = v[5001] = -kInf;
        expect_arg(max, last, x, axis);
        for (float& e : x.mutable_span<float>()) e = max ? -kInf : kInf;
        expect_arg(max, last, x, axis);
      }
    }
  }
}

TEST(GpuArgReduce, EmptyAxisIsAnError) {
  EXPECT_THROW(ArgReducePlan(ops::ArgReduce(true, 1, false), DType::F32, {3, 0}), Error);
  EXPECT_NO_THROW(ArgReducePlan(ops::ArgReduce(true, 1, false), DType::F32, {0, 0}));
}

}  // namespace
}  // namespace treadle::gpu
