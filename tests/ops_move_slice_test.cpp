#include "ops/move.hpp"
#include "ops/slice_bounds.hpp"
#include "ops_move_util.hpp"

namespace treadle::test {
namespace {

using ops::Pad;
using ops::PadMode;
using ops::slice_bounds;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

Pad pad(PadMode mode, SymShape before, SymShape after) {
  Pad p;
  p.mode = mode;
  p.before = std::move(before);
  p.after = std::move(after);
  return p;
}

// What Python's range(*slice(start, end, step).indices(5)) gives.
TEST(SliceBounds, Numbers) {
  const auto expect = [](std::int64_t start, std::int64_t end, std::int64_t step,
                         std::int64_t first, std::int64_t length) {
    const ops::ConcreteSlice s = slice_bounds(std::int64_t{5}, start, end, step);
    EXPECT_EQ(s.length, length) << start << ":" << end << ":" << step;
    if (length > 0) {
      EXPECT_EQ(s.start, first) << start << ":" << end << ":" << step;
    }
  };
  expect(0, kMax, 1, 0, 5);
  expect(1, 4, 2, 1, 2);
  expect(-3, kMax, 1, 2, 3);
  expect(0, -1, 1, 0, 4);
  expect(4, 1, 1, 0, 0);
  expect(-100, 2, 1, 0, 2);
  expect(-1, kMin, -1, 4, 5);
  expect(kMax, 0, -2, 4, 2);
  expect(2, -100, -1, 2, 3);
  expect(3, 0, kMin, 3, 1);
  error_of([] { slice_bounds(std::int64_t{5}, 0, 1, 0); });
}

// Symbolic bounds agree with the numbers for every size.
TEST(SliceBounds, Symbols) {
  const Dim n = Dim::symbol("N");
  struct Case {
    std::int64_t start, end, step;
  };
  for (const Case c :
       {Case{0, kMax, 1}, Case{1, kMax, 1}, Case{0, -1, 1}, Case{-2, kMax, 1}, Case{1, -1, 1},
        Case{0, 3, 1}, Case{2, 4, 1}, Case{-3, -1, 1}, Case{0, kMax, 2}, Case{1, 6, 3},
        Case{-1, kMin, -1}, Case{kMin, 2, 1}, Case{3, kMin, -1}, Case{-2, 0, -2}}) {
    const ops::SliceBounds s = slice_bounds(n, c.start, c.end, c.step);
    for (std::int64_t size = 0; size < 9; ++size) {
      const ops::ConcreteSlice want = slice_bounds(size, c.start, c.end, c.step);
      const SymbolValues at{{"N", size}};
      const std::string what =
          fmt::format("{}:{}:{} of {}: {} long", c.start, c.end, c.step, size, s.length.str());
      ASSERT_EQ(s.length.eval(at), want.length) << what;
      if (want.length > 0) {
        ASSERT_EQ(s.start.eval(at), want.start) << what;
      }
    }
  }
  EXPECT_EQ(slice_bounds(n, 1, kMax, 1).length, slice_bounds(n, 0, -1, 1).length);
  EXPECT_EQ(slice_bounds(n, 0, kMax, 1).length, n);
}

TEST(Slice, StepsAndReverses) {
  EXPECT_EQ(values(run(ops::Slice(0, 1, 2, 2), {counting({5})})), (Floats{1, 3}));
  EXPECT_EQ(values(run(ops::Slice(1, 2, 3, -1), {counting({2, 3})})), (Floats{2, 1, 0, 5, 4, 3}));
  const std::string text = error_of([] { run(ops::Slice(0, 3, 3), {counting({5})}); });
  EXPECT_TRUE(contains(text, "3 elements from 3 by 1 leave axis 0")) << text;
  EXPECT_EQ(dims(run(ops::Slice(0, 7, 0), {counting({5})})), (Ints{0}));
}

// Case H16 at operator level: begin [0,2,0], end [0,−1,0] with masks 5 of 0 … 11 as [1,6,2].
TEST(DynamicSlice, BoundsFromTensors) {
  const SymShape sizes{1, Dim::symbol("s"), 2};
  const Tensor x = counting({1, 6, 2});
  const Tensor y =
      run(ops::DynamicSlice(sizes), {x, ints({1}, {2}), ints({1}, {-1}), ints({1}, {1})});
  EXPECT_EQ(dims(y), (Ints{1, 3, 2}));
  EXPECT_EQ(values(y), (Floats{4, 5, 6, 7, 8, 9}));
  const Tensor r = run(ops::DynamicSlice(sizes),
                       {x, ints({1}, {-1}), ints({1}, {kMin}), ints({1}, {-2}), ints({1}, {-1})});
  EXPECT_EQ(values(r), (Floats{10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1}));
  error_of([&] {
    run(ops::DynamicSlice(sizes), {x, ints({1}, {0}), ints({1}, {1}), ints({1}, {3})});
  });
}

// Case H20.
TEST(Pad, Reflect) {
  const Tensor x = counting({4});
  EXPECT_EQ(values(run(pad(PadMode::Reflect, {2}, {2}), {x})), (Floats{2, 1, 0, 1, 2, 3, 2, 1}));
  EXPECT_EQ(values(run(pad(PadMode::Reflect, {-1}, {2}), {x})), (Floats{1, 2, 3, 2, 1}));
  const Tensor two = floats({2, 2}, {1.0f, 1.2f, 2.3f, 3.4f});
  const std::string text = error_of([&] { run(pad(PadMode::Reflect, {0, 2}, {0, 0}), {two}); });
  EXPECT_TRUE(contains(text, "axis 1")) << text;
  EXPECT_TRUE(contains(text, "by 2")) << text;
  EXPECT_TRUE(contains(text, "dim 2")) << text;
  error_of([&] { run(pad(PadMode::Reflect, {-3}, {3}), {x}); });
}

TEST(Pad, OtherModes) {
  const Tensor x = counting({4});
  EXPECT_EQ(values(run(pad(PadMode::Constant, {2}, {2}), {x})), (Floats{0, 0, 0, 1, 2, 3, 0, 0}));
  EXPECT_EQ(values(run(pad(PadMode::Edge, {2}, {2}), {x})), (Floats{0, 0, 0, 1, 2, 3, 3, 3}));
  EXPECT_EQ(values(run(pad(PadMode::Wrap, {2}, {2}), {x})), (Floats{2, 3, 0, 1, 2, 3, 0, 1}));
  EXPECT_EQ(values(run(pad(PadMode::Symmetric, {2}, {2}), {x})), (Floats{1, 0, 0, 1, 2, 3, 3, 2}));
  EXPECT_EQ(values(run(pad(PadMode::Constant, {-1}, {2}), {x, floats({}, {9})})),
            (Floats{1, 2, 3, 9, 9}));
  EXPECT_EQ(values(run(pad(PadMode::Edge, {-3}, {3}), {x})), (Floats{3, 3, 3, 3}));
  EXPECT_EQ(values(run(pad(PadMode::Wrap, {-1}, {2}), {x})), (Floats{1, 2, 3, 1, 2}));
  error_of([&] { run(pad(PadMode::Constant, {kMin}, {0}), {x}); });
}

TEST(Concat, JoinsAndChecks) {
  const Tensor y = run(ops::Concat(1), {floats({2, 1}, {1, 2}), floats({2, 2}, {3, 4, 5, 6})});
  EXPECT_EQ(values(y), (Floats{1, 3, 4, 2, 5, 6}));
  error_of([] { run(ops::Concat(1), {counting({2, 1}), counting({3, 1})}); });
}

TEST(Concat, KeepsSymbols) {
  Fact a = Fact::tensor(DType::I64, {1});
  a.dims = std::make_shared<const std::vector<Dim>>(1, Dim::symbol("N"));
  const Fact b = Fact::constant(ints({1}, {-1}));
  const Fact* in[] = {&a, &b};
  const auto out = ops::Concat(0).infer(in);
  ASSERT_TRUE(out[0].dims);
  EXPECT_EQ(*out[0].dims, (SymShape{Dim::symbol("N"), -1}));
}

TEST(Gather, NegativeAndOutOfRange) {
  const Tensor x = counting({3, 2});
  EXPECT_EQ(values(run(ops::Gather(0), {x, ints({2}, {-1, 0})})), (Floats{4, 5, 0, 1}));
  EXPECT_EQ(values(run(ops::Gather(1), {x, ints({}, {1})})), (Floats{1, 3, 5}));
  for (const std::int64_t bad : {std::int64_t{3}, std::int64_t{-4}}) {
    const std::string text = error_of([&] { run(ops::Gather(0), {x, ints({1}, {bad})}); });
    EXPECT_TRUE(contains(text, fmt::format("index {} is outside [-3, 3)", bad))) << text;
  }
}

TEST(Tile, RepeatsAxes) {
  const Tensor y = run(ops::Tile({2, 2}), {floats({1, 2}, {1, 2})});
  EXPECT_EQ(dims(y), (Ints{2, 4}));
  EXPECT_EQ(values(y), (Floats{1, 2, 1, 2, 1, 2, 1, 2}));
}

}  // namespace
}  // namespace treadle::test
