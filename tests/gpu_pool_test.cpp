#include "base/error.hpp"
#include "gpu/pool_plan.hpp"
#include "gpu_util.hpp"

namespace treadle::gpu {
namespace {

using ops::Layout;
using ops::Pool;
using ops::PoolKind;

// x with the axes of `layout`, from sizes in the order N, C, spatial.
Shape in_layout(Layout layout, const std::vector<std::int64_t>& sizes) {
  Shape s{sizes[0]};
  if (layout == Layout::ChannelsFirst) s.push_back(sizes[1]);
  for (std::size_t i = 2; i < sizes.size(); ++i) s.push_back(sizes[i]);
  if (layout == Layout::ChannelsLast) s.push_back(sizes[1]);
  return s;
}

void sprinkle_nan(Tensor& t) {
  dispatch(t.dtype(), [&]<typename T>(T) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, Half>) {
      auto v = t.mutable_span<T>();
      for (std::size_t i = 5; i < v.size(); i += 37) v[i] = T(std::nanf(""));
    }
  });
}

struct Result {
  Tensor y, indices;
  std::int64_t launches = 0;
};

Result run_pool(const Pool& op, const Tensor& x, bool sum = false, bool pairs = false) {
  test::GpuRun run;
  PoolPlan plan(op, x.dtype(), x.shape(), sum);
  if (pairs) plan.set_pairs(true);
  const auto dx = run.put(x);
  const auto dy = run.make(x.dtype(), plan.output());
  const auto di = run.make(DType::I64, op.with_indices ? plan.output() : Shape{0});
  const auto dw = run.make(DType::U8, {static_cast<std::int64_t>(plan.workspace_bytes())});
  plan.run(run.queue(), {dx.address(), dy.address(), di.address(), dw.address()}, "pool");
  Result r{run.get(dy), run.get(di)};
  r.launches = run.queue().counters().launches;
  return r;
}

std::string describe(const Pool& op, const Tensor& x) {
  return fmt::format(
      "kind {} layout {} x {} {} kernel {} stride {} dilation {} before {} after {} "
      "ceil {} include {}",
      static_cast<int>(op.kind), ops::name_of(op.layout), name_of(x.dtype()), x.shape().str(),
      fmt::join(op.kernel, ","), fmt::join(op.strides, ","), fmt::join(op.dilations, ","),
      fmt::join(op.padding.before, ","), fmt::join(op.padding.after, ","), op.ceil_mode,
      op.count_include_pad);
}

void check_pool(const Pool& op, const Tensor& x) {
  const std::vector<Tensor> want = evaluate(op, std::vector<Tensor>{x});
  const std::string what = describe(op, x);
  test::expect_close(run_pool(op, x, false, true).y, want[0], what + " in pairs");
  const Result got = run_pool(op, x);
  test::expect_close(got.y, want[0], what);
  if (op.with_indices) test::expect_close(got.indices, want[1], 0, 0, what + " indices");
}

Pool make_pool(PoolKind kind, Layout layout, std::vector<std::int64_t> kernel,
               std::vector<std::int64_t> strides) {
  Pool op;
  op.kind = kind;
  op.layout = layout;
  op.strides = std::move(strides);
  op.dilations.assign(kernel.size(), 1);
  op.padding.before.assign(kernel.size(), 0);
  op.padding.after.assign(kernel.size(), 0);
  op.kernel = std::move(kernel);
  return op;
}

class GpuPool : public testing::TestWithParam<std::tuple<PoolKind, Layout, DType>> {
 protected:
  PoolKind kind() const { return std::get<0>(GetParam()); }
  Layout layout() const { return std::get<1>(GetParam()); }
  DType dtype() const { return std::get<2>(GetParam()); }
  Tensor input(const std::vector<std::int64_t>& sizes, std::uint32_t seed = 1) const {
    return test::random_tensor(dtype(), in_layout(layout(), sizes), seed);
  }
};

TEST_P(GpuPool, RandomShapes) {
  std::mt19937 random(7);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
  };
  for (std::uint32_t round = 0; round < 60; ++round) {
    const std::size_t rank = 1 + round % 3;
    const std::int64_t channels = round % 2 == 0 ? 8 * pick(1, 3) : pick(1, 11);
    std::vector<std::int64_t> sizes = {pick(1, 3), channels};
    Pool op = make_pool(kind(), layout(), {}, {});
    for (std::size_t i = 0; i < rank; ++i) {
      sizes.push_back(pick(1, rank == 3 ? 7 : 17));
      op.kernel.push_back(pick(1, 4));
      op.strides.push_back(pick(1, 3));
      op.dilations.push_back(pick(1, 2));
      op.padding.before.push_back(pick(0, 4));
      op.padding.after.push_back(pick(0, 4));
      const std::int64_t reach = (op.kernel[i] - 1) * op.dilations[i] + 1;
      op.padding.after[i] += std::max<std::int64_t>(
          0, reach - sizes.back() - op.padding.before[i] - op.padding.after[i]);
    }
    op.ceil_mode = pick(0, 1) == 1;
    op.count_include_pad = pick(0, 1) == 1;
    op.with_indices = kind() == PoolKind::Max && pick(0, 2) == 0;
    op.storage_order = op.with_indices ? pick(0, 1) : 0;
    Tensor x = input(sizes, round);
    if (pick(0, 2) == 0) sprinkle_nan(x);
    check_pool(op, x);
    if (HasFatalFailure()) return;
  }
}

TEST_P(GpuPool, SamePadding) {
  for (const ops::AutoPad mode : {ops::AutoPad::SameUpper, ops::AutoPad::SameLower}) {
    Pool op = make_pool(kind(), layout(), {3, 3}, {2, 2});
    op.padding.mode = mode;
    check_pool(op, input({2, 16, 9, 8}));
  }
}

TEST_P(GpuPool, LongAxes) {
  for (const std::int64_t size : {1025, 65537}) {
    check_pool(make_pool(kind(), layout(), {3}, {2}), input({1, 1, size}));
    check_pool(make_pool(kind(), layout(), {2, 1}, {2, 1}), input({1, 1, size, 1}));
    check_pool(make_pool(kind(), layout(), {2}, {1}), input({1, size, 2}));
    check_pool(make_pool(kind(), layout(), {2}, {1}), input({size, 1, 2}));
  }
}

TEST_P(GpuPool, EmptyTensors) {
  check_pool(make_pool(kind(), layout(), {2, 2}, {1, 1}), input({0, 4, 5, 5}));
  check_pool(make_pool(kind(), layout(), {2, 2}, {1, 1}), input({2, 0, 5, 5}));
}

TEST_P(GpuPool, GlobalPoolsAreReductions) {
  const auto check_global = [&](const std::vector<std::int64_t>& sizes) {
    const std::vector<std::int64_t> kernel(sizes.begin() + 2, sizes.end());
    const Pool op =
        make_pool(kind(), layout(), kernel, std::vector<std::int64_t>(kernel.size(), 1));
    const Tensor x = input(sizes);
    EXPECT_TRUE(PoolPlan(op, x.dtype(), x.shape()).is_global());
    check_pool(op, x);
  };
  check_global({1, 1280, 7, 7});
  check_global({3, 5, 8, 8});
  check_global({2, 3, 1025});
  check_global({1, 2, 3, 4, 5});
}

// The windows of vision models.
TEST_P(GpuPool, OverlappingWindows) {
  for (const std::int64_t kernel : {2, 3, 5}) {
    for (const std::int64_t stride : {1, 2}) {
      Pool op = make_pool(kind(), layout(), {kernel, kernel}, {stride, stride});
      op.padding.before = {0, 1};
      op.padding.after = {1, 0};
      check_pool(op, input({2, 16, 35, 18}));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, GpuPool,
    testing::Combine(testing::Values(PoolKind::Max, PoolKind::Average),
                     testing::Values(Layout::ChannelsFirst, Layout::ChannelsLast),
                     testing::Values(DType::F32, DType::F16)),
    [](const auto& test_case) {
      return fmt::format("{}{}{}",
                         std::get<0>(test_case.param) == PoolKind::Max ? "Max" : "Average",
                         std::get<1>(test_case.param) == Layout::ChannelsFirst ? "First" : "Last",
                         std::get<2>(test_case.param) == DType::F32 ? "F32" : "F16");
    });

TEST(GpuPoolSum, IsNotDivided) {
  Pool op = make_pool(PoolKind::Average, Layout::ChannelsLast, {2, 2}, {2, 2});
  op.padding.before = {1, 1};
  const Tensor x = Tensor::of<float>({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Tensor y = run_pool(op, x, true).y;
  test::expect_close(y, Tensor::of<float>({1, 2, 2, 1}, {1, 5, 11, 28}), "sum");
}

TEST(GpuPoolWindows, InThePaddingAlone) {
  for (const PoolKind kind : {PoolKind::Max, PoolKind::Average}) {
    Pool op = make_pool(kind, Layout::ChannelsFirst, {2}, {2});
    op.padding.before = {4};
    op.padding.after = {4};
    op.with_indices = kind == PoolKind::Max;
    const Tensor x = Tensor::of<float>({1, 1, 2}, {3, 7});
    const Result r = run_pool(op, x);
    const float none = kind == PoolKind::Max ? -std::numeric_limits<float>::infinity() : 0.0f;
    const float some = kind == PoolKind::Max ? 7.0f : 5.0f;
    test::expect_close(r.y, Tensor::of<float>({1, 1, 5}, {none, none, some, none, none}), "y");
    if (op.with_indices) {
      test::expect_close(r.indices, Tensor::of<std::int64_t>({1, 1, 5}, {-1, -1, 1, -1, -1}),
                         "index");
    }
  }
}

TEST(GpuPoolPlan, SaysWhatIsNotCovered) {
  Pool op = make_pool(PoolKind::Lp, Layout::ChannelsFirst, {2}, {1});
  EXPECT_NE(why_no_pool(op, DType::F32, 3), "");
  EXPECT_THROW(PoolPlan(op, DType::F32, {1, 1, 4}), Error);
  op.kind = PoolKind::Max;
  EXPECT_EQ(why_no_pool(op, DType::F32, 3), "");
  EXPECT_NE(why_no_pool(op, DType::U8, 3), "");
  EXPECT_NE(why_no_pool(op, DType::F32, 6), "");
  EXPECT_THROW(PoolPlan(op, DType::F32, {1, 1, std::int64_t{1} << 33}), Error);
  EXPECT_THROW(PoolPlan(op, DType::F32, {1, 1, 4, 4}), Error);
}

}  // namespace
}  // namespace treadle::gpu
