// Gather, GatherElements and GatherND on the device against the operators' eval.
#include "gpu/gather_plan.hpp"

#include "base/error.hpp"
#include "gpu_util.hpp"
#include "ops/gather_elements.hpp"
#include "ops/gather_nd.hpp"
#include "ops/move.hpp"

namespace treadle::gpu {
namespace {

using test::expect_close;
using test::GpuRun;
using test::random_tensor;

// Indices within ±limit, negative ones among them; limit > 0.
Tensor random_indices(DType dtype, const Shape& shape, std::int64_t limit, std::uint32_t seed) {
  return random_tensor(dtype, shape, seed, static_cast<double>(-limit),
                       static_cast<double>(limit) - 1e-3);
}

TensorView shape_of(const Tensor& t) {
  return {t.dtype(), t.shape(), nullptr};
}

template <typename Plan>
Tensor on_device(std::int64_t parameter, const Tensor& x, const Tensor& indices, const Shape& out) {
  GpuRun gpu;
  const auto a = gpu.put(x), b = gpu.put(indices), y = gpu.make(x.dtype(), out);
  Plan(parameter, shape_of(x), shape_of(indices))
      .run(gpu.queue(), a.address(), b.address(), y.address(), "node 'pick'");
  return gpu.get(y);
}

template <typename Plan, typename Op>
void expect_reference(std::int64_t parameter, const Tensor& x, const Tensor& indices) {
  const Tensor want = evaluate(Op(parameter), {x, indices}).front();
  expect_close(on_device<Plan>(parameter, x, indices, want.shape()), want,
               std::string(Op(parameter).name()) + " of " + x.shape().str() + " by " +
                   indices.shape().str());
}

TEST(GpuGather, EveryKindOfShapeAndDtype) {
  struct {
    Shape x, indices;
    std::int64_t axis;
  } const cases[] = {{{7}, {3}, 0},         {{7, 4}, {3, 2}, 0},   {{3, 7, 5}, {4}, 1},
                     {{3, 7}, {}, 1},       {{3, 7, 16}, {9}, 1},  {{1, 1, 1}, {1}, 1},
                     {{65537, 3}, {50}, 0}, {{3, 65537}, {50}, 1}, {{5, 3}, {65537}, 0},
                     {{3, 7}, {0}, 1},      {{3, 7, 0}, {2}, 1},   {{1025, 24}, {3, 1025}, 0}};
  std::uint32_t seed = 1;
  for (const auto& c : cases) {
    for (const DType dtype : {DType::F32, DType::F16, DType::U8, DType::I64, DType::Bool}) {
      for (const DType by : {DType::I32, DType::I64}) {
        const Tensor x = random_tensor(dtype, c.x, seed++, 0, 100);
        const std::int64_t limit = c.x[static_cast<std::size_t>(c.axis)];
        expect_reference<GatherPlan, ops::Gather>(c.axis, x,
                                                  random_indices(by, c.indices, limit, seed++));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(GpuGather, Elements) {
  struct {
    Shape x, indices;
    std::int64_t axis;
  } const cases[] = {{{7}, {3}, 0},
                     {{5, 7}, {5, 9}, 1},
                     {{5, 7}, {3, 7}, 0},
                     {{5, 7, 3}, {4, 20, 2}, 1},
                     {{65537, 2}, {1025, 2}, 0},
                     {{3, 7}, {0, 7}, 0},
                     {{2, 3, 2, 3, 2, 3}, {2, 3, 5, 2, 2, 3}, 2}};
  std::uint32_t seed = 1;
  for (const auto& c : cases) {
    for (const DType dtype : {DType::F32, DType::F16, DType::U8, DType::F64}) {
      for (const DType by : {DType::I32, DType::I64}) {
        const Tensor x = random_tensor(dtype, c.x, seed++, 0, 100);
        const std::int64_t limit = c.x[static_cast<std::size_t>(c.axis)];
        expect_reference<GatherElementsPlan, ops::GatherElements>(
            c.axis, x, random_indices(by, c.indices, limit, seed++));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(GpuGather, Nd) {
  struct {
    Shape x, indices;
    std::int64_t batch, limit;
  } const cases[] = {{{7}, {3, 1}, 0, 7},
                     {{5, 7}, {4, 2}, 0, 5},
                     {{5, 7}, {4, 1}, 0, 5},
                     {{3, 5, 7, 4}, {3, 6, 2}, 1, 5},
                     {{3, 5, 7}, {3, 1}, 1, 5},
                     {{2, 3, 5, 8}, {2, 3, 4, 1}, 2, 5},
                     {{1025, 3}, {2000, 1}, 0, 1025},
                     {{3, 4}, {0, 2}, 0, 3},
                     {{3, 4}, {2, 0}, 0, 3}};
  std::uint32_t seed = 1;
  for (const auto& c : cases) {
    for (const DType dtype : {DType::F32, DType::F16, DType::U8, DType::I64}) {
      for (const DType by : {DType::I32, DType::I64}) {
        const Tensor x = random_tensor(dtype, c.x, seed++, 0, 100);
        expect_reference<GatherNdPlan, ops::GatherNd>(
            c.batch, x, random_indices(by, c.indices, c.limit, seed++));
        if (HasFatalFailure()) return;
      }
    }
  }
}

template <typename Plan>
std::string error_of(std::int64_t parameter, const Tensor& x, const Tensor& indices,
                     const Shape& out) {
  try {
    on_device<Plan>(parameter, x, indices, out);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Device);
    return e.what();
  }
  return "no error";
}

TEST(GpuGather, IndicesOutOfRangeAreNamedAndNothingIsRead) {
  const Tensor x = random_tensor(DType::F32, {5, 4}, 1);
  for (const std::int64_t wrong : {std::int64_t{5}, std::int64_t{-6}, std::int64_t{1} << 40}) {
    const std::string number = std::to_string(wrong);
    const auto expect_named = [&](const std::string& text) {
      EXPECT_NE(text.find("index " + number), std::string::npos) << text;
      EXPECT_NE(text.find("5"), std::string::npos) << text;
      EXPECT_NE(text.find("node 'pick'"), std::string::npos) << text;
    };
    expect_named(error_of<GatherPlan>(0, x, Tensor::of<std::int64_t>({3}, {0, wrong, 4}), {3, 4}));
    expect_named(error_of<GatherElementsPlan>(
        0, x, Tensor::of<std::int64_t>({1, 4}, {0, 1, wrong, 4}), {1, 4}));
    expect_named(
        error_of<GatherNdPlan>(0, x, Tensor::of<std::int64_t>({2, 2}, {0, 1, wrong, 2}), {2}));
  }
  const Tensor none(DType::F32, {0, 4});
  EXPECT_NE(error_of<GatherPlan>(0, none, Tensor::of<std::int32_t>({1}, {0}), {1, 4}), "no error");
}

TEST(GpuGather, ARowThatIsNotAligned) {
  const Tensor x = random_tensor(DType::F32, {1 + 8 * 4}, 2);
  Tensor tail(DType::F32, {8, 4});
  std::copy_n(x.span<float>().data() + 1, 32, tail.mutable_span<float>().data());
  const Tensor by = Tensor::of<std::int32_t>({3}, {7, -8, 2});
  GpuRun gpu;
  const auto a = gpu.put(x), b = gpu.put(by), y = gpu.make(DType::F32, {3, 4});
  GatherPlan(0, shape_of(tail), shape_of(by))
      .run(gpu.queue(), a.address() + 4, b.address(), y.address(), "a gather");
  expect_close(gpu.get(y), evaluate(ops::Gather(0), {tail, by}).front(), "unaligned");
}

TEST(GpuGather, WhatIsRefused) {
  EXPECT_EQ(why_no_gather(DType::F32, DType::I64), "");
  EXPECT_NE(why_no_gather(DType::String, DType::I64), "");
  EXPECT_NE(why_no_gather(DType::F32, DType::U8), "");
  const auto view = [](DType t, const Shape& s) { return TensorView{t, s, nullptr}; };
  EXPECT_THROW(GatherPlan(0, view(DType::F32, {5, 3}), view(DType::I64, {std::int64_t{1} << 31})),
               Error);
  EXPECT_THROW(GatherElementsPlan(1, view(DType::F32, {5, 3}), view(DType::I64, {6, 3})), Error);
  EXPECT_THROW(GatherNdPlan(1, view(DType::F32, {5, 3}), view(DType::I64, {4, 1})), Error);
}

}  // namespace
}  // namespace treadle::gpu
