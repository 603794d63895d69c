#include "base/error.hpp"
#include "gpu/elementwise_plan.hpp"
#include "gpu_util.hpp"
#include "ops/cast.hpp"

namespace treadle::gpu {
namespace {

using ops::BinaryFn;
using ops::UnaryFn;

Tensor run_plan(const ElementwisePlan& plan, DType out, const Shape& shape,
                const std::vector<Tensor>& inputs) {
  test::GpuRun run;
  std::vector<DeviceAddress> at;
  for (const Tensor& t : inputs) at.push_back(run.put(t).address());
  const auto y = run.make(out, shape);
  plan.run(run.queue(), at, y.address(), "elementwise");
  return run.get(y);
}

// Values that functions treat apart, then random ones.
Tensor probe(DType dtype, const Shape& shape, double low, double high, std::uint32_t seed = 1) {
  Tensor t = test::random_tensor(dtype, shape, seed, low, high);
  if (!is_float(dtype)) return t;
  const float special[] = {0.0f, -0.0f, std::nanf(""), INFINITY, -INFINITY,
                           1.0f, -1.0f, 0.5f,          2.5f};
  dispatch(dtype, [&]<typename T>(T) {
    if constexpr (!std::is_integral_v<T>) {
      auto v = t.mutable_span<T>();
      for (std::size_t i = 0; i < v.size() && i < std::size(special); ++i) {
        if (special[i] >= low || std::isnan(special[i])) v[i] = T(special[i]);
      }
    }
  });
  return t;
}

constexpr DType kFloats[] = {DType::F32, DType::F16, DType::BF16};
constexpr DType kIntegers[] = {DType::I8, DType::I16, DType::I32, DType::I64,
                               DType::U8, DType::U16, DType::U32};

void check_unary(const ops::Unary& op, const Tensor& x) {
  const Tensor want = evaluate(op, std::vector<Tensor>{x})[0];
  ElementwisePlan plan(want.dtype(), want.shape());
  plan.input(x.dtype(), x.shape());
  plan.unary(op);
  test::expect_close(
      run_plan(plan, want.dtype(), want.shape(), {x}), want,
      fmt::format("{} of {} {}", ops::name_of(op.fn), name_of(x.dtype()), x.shape().str()));
}

TEST(GpuElementwise, UnaryFunctionsOfFloats) {
  for (int f = 0; f <= static_cast<int>(UnaryFn::IsInf); ++f) {
    const auto fn = static_cast<UnaryFn>(f);
    ops::Unary op(fn, 1, 1);
    if (fn == UnaryFn::LeakyRelu || fn == UnaryFn::Elu) op = ops::Unary(fn, 0.3);
    if (fn == UnaryFn::Selu) op = ops::Unary(fn, 1.67326, 1.0507);
    if (fn == UnaryFn::Celu) op = ops::Unary(fn, 0.7);
    if (fn == UnaryFn::HardSigmoid) op = ops::Unary(fn, 0.2, 0.5);
    if (fn == UnaryFn::ThresholdedRelu) op = ops::Unary(fn, 0.4);
    if (fn == UnaryFn::Shrink) op = ops::Unary(fn, 0.2, 0.6);
    if (fn == UnaryFn::Clip) op = ops::Unary(fn, -0.5, 1.25);
    for (const DType dtype : kFloats) {
      if (!why_no_unary(op, dtype).empty()) {
        EXPECT_TRUE(fn == UnaryFn::Not || fn == UnaryFn::BitwiseNot);
        continue;
      }
      const bool positive =
          fn == UnaryFn::Log || fn == UnaryFn::Sqrt || fn == UnaryFn::Rsqrt || fn == UnaryFn::Acosh;
      for (const Shape& shape : {Shape{3, 16}, Shape{1025}, Shape{1}, Shape{0}, Shape{}}) {
        check_unary(op, probe(dtype, shape, positive ? 0.05 : -4, 4));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(GpuElementwise, UnaryFunctionsOfIntegers) {
  int checked = 0;
  for (int f = 0; f <= static_cast<int>(UnaryFn::IsInf); ++f) {
    const ops::Unary op(static_cast<UnaryFn>(f), -3, 9);
    for (const DType dtype : kIntegers) {
      if (!why_no_unary(op, dtype).empty()) continue;
      if (op.fn == UnaryFn::Clip && !is_signed_integer(dtype)) continue;
      check_unary(op, test::random_tensor(dtype, {2, 37}, 3, dtype >= DType::U8 ? 0 : -100, 100));
      ++checked;
    }
  }
  EXPECT_GT(checked, 60);
  check_unary(ops::Unary(UnaryFn::Not), test::random_tensor(DType::Bool, {77}, 3));
}

void check_binary(BinaryFn fn, const Tensor& a, const Tensor& b) {
  const Tensor want = evaluate(ops::Binary(fn), {a, b})[0];
  ElementwisePlan plan(want.dtype(), want.shape());
  plan.input(a.dtype(), a.shape());
  plan.binary(fn, plan.input(b.dtype(), b.shape()));
  const std::string what = fmt::format("{} of {} {} and {}", ops::name_of(fn), name_of(a.dtype()),
                                       a.shape().str(), b.shape().str());
  test::expect_close(run_plan(plan, want.dtype(), want.shape(), {a, b}), want, what);
}

TEST(GpuElementwise, BinaryFunctions) {
  for (int f = 0; f <= static_cast<int>(BinaryFn::GreaterEqual); ++f) {
    const auto fn = static_cast<BinaryFn>(f);
    const bool positive = fn == BinaryFn::Pow;
    for (const DType dtype : kFloats) {
      if (!why_no_binary(fn, dtype).empty()) continue;
      const Tensor a = probe(dtype, {5, 16}, positive ? 0.1 : -3, 3, 1);
      Tensor b = probe(dtype, {5, 16}, -3, 3, 2);
      check_binary(fn, a, b);
      check_binary(fn, probe(dtype, {3, 7}, positive ? 0.1 : -3, 3, 1),
                   test::random_tensor(dtype, {3, 7}, 2));
    }
    for (const DType dtype : kIntegers) {
      if (!why_no_binary(fn, dtype).empty()) continue;
      const double low = dtype >= DType::U8 ? 0 : -100;
      check_binary(fn, test::random_tensor(dtype, {9, 8}, 1, low, 100),
                   test::random_tensor(dtype, {9, 8}, 2, low / 25, 4));
    }
    if (why_no_binary(fn, DType::Bool).empty()) {
      check_binary(fn, test::random_tensor(DType::Bool, {64}, 1),
                   test::random_tensor(DType::Bool, {64}, 2));
    }
    if (HasFatalFailure()) return;
  }
}

TEST(GpuElementwise, Broadcasting) {
  const std::vector<std::pair<Shape, Shape>> cases = {
      {{2, 3, 8}, {2, 3, 8}},
      {{2, 3, 8}, {1, 1, 8}},
      {{2, 3, 8}, {2, 3, 1}},
      {{2, 1, 8}, {1, 3, 1}},
      {{1, 1, 1}, {2, 3, 5}},
      {{2, 3, 4, 16}, {2, 1, 1, 16}},
      {{3, 1, 5, 1}, {1, 4, 1, 7}},
      {{1}, {65537}},
      {{65537, 1}, {1, 2}},
      {{2, 1025}, {2, 1}},
      {{2, 1, 2, 1, 2, 1}, {1, 3, 1, 3, 1, 3}},
      {{3, 0}, {3, 1}},
  };
  for (const auto& [a, b] : cases) {
    for (const DType dtype : {DType::F32, DType::F16, DType::I32}) {
      check_binary(BinaryFn::Sub, test::random_tensor(dtype, a, 1),
                   test::random_tensor(dtype, b, 2));
      check_binary(BinaryFn::Sub, test::random_tensor(dtype, b, 1),
                   test::random_tensor(dtype, a, 2));
    }
  }
}

TEST(GpuElementwise, Select) {
  for (const DType dtype : {DType::F32, DType::F16, DType::I64, DType::U8, DType::Bool}) {
    const Tensor c = test::random_tensor(DType::Bool, {2, 1, 9}, 1);
    const Tensor a = test::random_tensor(dtype, {2, 5, 9}, 2, 0, 50);
    const Tensor b = test::random_tensor(dtype, {1, 5, 1}, 3, 0, 50);
    const Tensor want = evaluate(ops::Select(), {c, a, b})[0];
    ElementwisePlan plan(dtype, want.shape());
    plan.input(DType::Bool, c.shape());
    const int first = plan.input(dtype, a.shape());
    plan.select(first, plan.input(dtype, b.shape()));
    EXPECT_TRUE(run_plan(plan, dtype, want.shape(), {c, a, b}).identical(want)) << name_of(dtype);
  }
}

TEST(GpuElementwise, Casts) {
  std::vector<DType> types(std::begin(kFloats), std::end(kFloats));
  types.insert(types.end(), std::begin(kIntegers), std::end(kIntegers));
  types.push_back(DType::Bool);
  for (const DType from : types) {
    Tensor x = test::random_tensor(from, {3, 41}, 4,
                                   from >= DType::U8 && from <= DType::U32 ? 0 : -300, 300);
    if (from == DType::F32) {
      auto v = x.mutable_span<float>();
      const float special[] = {NAN,   INFINITY, -INFINITY, 3e9f,    -3e9f,
                               1e19f, -1e19f,   0.0f,      65519.9f};
      std::copy(std::begin(special), std::end(special), v.begin());
    }
    for (const DType to : types) {
      const Tensor want = evaluate(ops::Cast(to), std::vector<Tensor>{x})[0];
      ElementwisePlan plan(to, x.shape());
      plan.input(from, x.shape());
      test::expect_close(run_plan(plan, to, x.shape(), {x}), want, 0, 0,
                         fmt::format("{} to {}", name_of(from), name_of(to)));
    }
  }
}

// y = gelu(x·scale + shift) + x, with x kept.
TEST(GpuElementwise, Chains) {
  for (const Shape& shape : {Shape{2, 3, 16}, Shape{3, 5, 7}}) {
    const Shape row{1, 1, shape[2]};
    const Tensor x = test::random_tensor(DType::F32, shape, 1);
    const Tensor scale = test::random_tensor(DType::F32, row, 2);
    const Tensor shift = test::random_tensor(DType::F32, row, 3);
    ElementwisePlan plan(DType::F32, shape);
    plan.input(DType::F32, shape);
    const int s = plan.input(DType::F32, row), t = plan.input(DType::F32, row);
    plan.save();
    plan.binary(BinaryFn::Mul, s);
    plan.binary(BinaryFn::Add, t);
    plan.unary(ops::Unary(UnaryFn::Gelu));
    plan.binary(BinaryFn::Sub, ElementwisePlan::kSaved, true);
    Tensor want = evaluate(ops::Binary(BinaryFn::Mul), {x, scale})[0];
    want = evaluate(ops::Binary(BinaryFn::Add), {want, shift})[0];
    want = evaluate(ops::Unary(UnaryFn::Gelu), std::vector<Tensor>{want})[0];
    want = evaluate(ops::Binary(BinaryFn::Sub), {x, want})[0];
    test::expect_close(run_plan(plan, DType::F32, shape, {x, scale, shift}), want, "chain");
  }
}

// Into every other column of a wider tensor.
TEST(GpuElementwise, StridedOutputs) {
  const Tensor x = test::random_tensor(DType::F32, {3, 8}, 1);
  for (const std::int64_t step : {1, 2}) {
    ElementwisePlan plan(DType::F32, {3, 8}, ops::Strided{4, {20, step}});
    plan.input(DType::F32, {3, 8});
    plan.unary(ops::Unary(UnaryFn::Neg));
    Tensor want = test::random_tensor(DType::F32, {3, 20}, 2);
    test::GpuRun run;
    const auto dx = run.put(x), dy = run.put(want.clone());
    const DeviceAddress at[] = {dx.address()};
    plan.run(run.queue(), at, dy.address(), "neg");
    auto v = want.mutable_span<float>();
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 8; ++j) {
        v[i * 20 + 4 + j * static_cast<std::size_t>(step)] = -x.span<float>()[i * 8 + j];
      }
    }
    EXPECT_TRUE(run.get(dy).identical(want)) << step;
  }
}

TEST(GpuElementwisePlan, VectorsWhereTheyFit) {
  const DeviceAddress at[] = {4096, 8192};
  const auto kernel = [&](const Shape& a, const Shape& b, DType dtype, DeviceAddress out) {
    ElementwisePlan plan(dtype, a);
    plan.input(dtype, a);
    plan.binary(BinaryFn::Add, plan.input(dtype, b));
    return plan.prepare(at, out, "")[0].get().kernel;
  };
  EXPECT_EQ(kernel({4, 8}, {1, 8}, DType::F32, 256), KernelId::elementwise_f32);
  EXPECT_EQ(kernel({4, 8}, {4, 1}, DType::F16, 256), KernelId::elementwise_f16);
  EXPECT_EQ(kernel({4, 4}, {4, 4}, DType::BF16, 256), KernelId::elementwise_bf16);
  EXPECT_EQ(kernel({4, 6}, {1, 6}, DType::F32, 256), KernelId::elementwise_any_float);
  EXPECT_EQ(kernel({4, 8}, {4, 8}, DType::F32, 260), KernelId::elementwise_any_float);
  EXPECT_EQ(kernel({4, 8}, {4, 8}, DType::I32, 256), KernelId::elementwise_any_int);
}

TEST(GpuElementwisePlan, Limits) {
  EXPECT_THROW(ElementwisePlan(DType::F64, {1}), Error);
  EXPECT_THROW(ElementwisePlan(DType::String, {1}), Error);
  ElementwisePlan plan(DType::F32, {2, 3});
  EXPECT_THROW(plan.input(DType::F32, {2, 2}), Error);
  EXPECT_THROW(plan.input(DType::F32, {3}), Error);
  for (int i = 0; i < 4; ++i) plan.input(DType::F32, {2, 3});
  EXPECT_THROW(plan.input(DType::F32, {2, 3}), Error);
  EXPECT_THROW(plan.binary(BinaryFn::Pow, 1, true), Error);
  EXPECT_THROW(plan.binary(BinaryFn::Atan2, 1), Error);
  for (int i = 0; i < 12; ++i) plan.unary(ops::Unary(UnaryFn::Relu));
  EXPECT_THROW(plan.unary(ops::Unary(UnaryFn::Relu)), Error);
  ElementwisePlan large(DType::F32, {std::int64_t{1} << 32});
  large.input(DType::F32, {std::int64_t{1} << 32});
  const DeviceAddress at[] = {256};
  EXPECT_THROW(large.prepare(at, 256, ""), Error);
}

}  // namespace
}  // namespace treadle::gpu
