#include <cmath>
#include <limits>

#include "ops/compress.hpp"
#include "ops/cumulative.hpp"
#include "ops/gather_elements.hpp"
#include "ops/gather_nd.hpp"
#include "ops/non_zero.hpp"
#include "ops/one_hot.hpp"
#include "ops/range.hpp"
#include "ops/reverse_sequence.hpp"
#include "ops/scatter_elements.hpp"
#include "ops/scatter_nd.hpp"
#include "ops/tensor_scatter.hpp"
#include "ops/top_k.hpp"
#include "ops/trilu.hpp"
#include "ops/unique.hpp"
#include "ops_move_util.hpp"

namespace treadle::test {
namespace {

using ops::ScatterReduce;

const Dim kFresh = Dim::symbol("fresh");

TEST(GatherElements, AlongAxis) {
  const Tensor x = counting({2, 2});
  const Tensor y = run(ops::GatherElements(1), {x, ints({2, 2}, {0, 0, -1, 0})});
  EXPECT_EQ(values(y), (Floats{0, 0, 3, 2}));
  error_of([&] { run(ops::GatherElements(1), {x, ints({2, 2}, {0, 0, 2, 0})}); });
}

TEST(GatherNd, TuplesSlicesAndBatches) {
  const Tensor x = counting({2, 2});
  EXPECT_EQ(values(run(ops::GatherNd(), {x, ints({2, 2}, {0, 0, 1, -1})})), (Floats{0, 3}));
  EXPECT_EQ(values(run(ops::GatherNd(), {x, ints({2, 1}, {1, 0})})), (Floats{2, 3, 0, 1}));
  const Tensor b = run(ops::GatherNd(1), {counting({2, 2, 2}), ints({2, 1}, {1, 0})});
  EXPECT_EQ(values(b), (Floats{2, 3, 4, 5}));
  error_of([&] { run(ops::GatherNd(), {x, ints({1, 2}, {0, 2})}); });
}

TEST(ScatterElements, Reductions) {
  const Tensor x = floats({1, 3}, {1, 2, 3});
  const Tensor at = ints({1, 3}, {1, 1, -1});
  const Tensor by = floats({1, 3}, {10, 20, 5});
  const auto with = [&](ScatterReduce r) {
    return values(run(ops::ScatterElements(1, r), {x, at, by}));
  };
  EXPECT_EQ(with(ScatterReduce::None), (Floats{1, 20, 5}));
  EXPECT_EQ(with(ScatterReduce::Add), (Floats{1, 32, 8}));
  EXPECT_EQ(with(ScatterReduce::Mul), (Floats{1, 400, 15}));
  EXPECT_EQ(with(ScatterReduce::Min), (Floats{1, 2, 3}));
  EXPECT_EQ(with(ScatterReduce::Max), (Floats{1, 20, 5}));
  error_of([&] { run(ops::ScatterElements(1), {x, ints({1, 1}, {3}), floats({1, 1}, {0})}); });
}

TEST(ScatterNd, Slices) {
  const Tensor y = run(ops::ScatterNd(ScatterReduce::Add),
                       {counting({2, 2}), ints({2, 1}, {1, 1}), floats({2, 2}, {1, 1, 10, 10})});
  EXPECT_EQ(values(y), (Floats{0, 1, 13, 14}));
}

TEST(TensorScatter, LinearAndCircular) {
  const Tensor cache = counting({1, 3, 1});
  const Tensor update = floats({1, 2, 1}, {8, 9});
  EXPECT_EQ(values(run(ops::TensorScatter(1, false), {cache, update, ints({1}, {1})})),
            (Floats{0, 8, 9}));
  EXPECT_EQ(values(run(ops::TensorScatter(1, true), {cache, update, ints({1}, {2})})),
            (Floats{9, 1, 8}));
  error_of([&] { run(ops::TensorScatter(1, false), {cache, update, ints({1}, {2})}); });
}

TEST(TopK, TiesAndNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto out = evaluate(ops::TopK(0, 3, true), {floats({5}, {1, 7, nan, 7, 3})});
  EXPECT_EQ(out[1].to_i64(), (Ints{2, 1, 3}));
  const auto low = evaluate(ops::TopK(0, 2, false), {floats({5}, {3, 1, nan, 1, 2})});
  EXPECT_EQ(low[1].to_i64(), (Ints{1, 3}));
  const auto late =
      evaluate(ops::TopK(0, kFresh, true, true), {floats({3}, {1, 3, 2}), ints({1}, {2})});
  EXPECT_EQ(values(late[0]), (Floats{3, 2}));
  error_of([&] { evaluate(ops::TopK(0, 6, true), {counting({5})}); });
}

TEST(Range, LengthsAndErrors) {
  const auto range = [](std::int64_t a, std::int64_t b, std::int64_t d) {
    return run(ops::Range(kFresh, true), {ints({}, {a}), ints({}, {b}), ints({}, {d})}).to_i64();
  };
  EXPECT_EQ(range(1, 8, 3), (Ints{1, 4, 7}));
  EXPECT_EQ(range(5, 0, -2), (Ints{5, 3, 1}));
  EXPECT_EQ(range(5, 5, 1), Ints{});
  error_of([&] { range(0, 1, 0); });
  error_of([&] {
    range(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(), 1);
  });
  const Tensor f = run(ops::Range(kFresh, true),
                       {Tensor::scalar(1.0f), Tensor::scalar(2.0f), Tensor::scalar(0.5f)});
  EXPECT_EQ(values(f), (Floats{1, 1.5f}));
}

TEST(Range, SymbolicLength) {
  const Dim n = Dim::symbol("N");
  Fact limit = Fact::tensor(DType::I64, {});
  limit.dims = std::make_shared<const std::vector<Dim>>(1, n);
  const Fact zero = Fact::constant(ints({}, {0}));
  EXPECT_EQ(ops::range_length(zero, limit, Fact::constant(ints({}, {1}))), std::optional(n));
  const auto half = ops::range_length(zero, limit, Fact::constant(ints({}, {2})));
  ASSERT_TRUE(half);
  EXPECT_EQ(half->eval({{"N", 5}}), 3);
}

TEST(Cumulative, ExclusiveReverse) {
  const Tensor x = floats({4}, {1, 2, 3, 4});
  const auto with = [&](ops::CumulativeFn f, bool exclusive, bool reverse) {
    return values(run(ops::Cumulative(f, 0, exclusive, reverse), {x}));
  };
  EXPECT_EQ(with(ops::CumulativeFn::Sum, false, false), (Floats{1, 3, 6, 10}));
  EXPECT_EQ(with(ops::CumulativeFn::Sum, true, false), (Floats{0, 1, 3, 6}));
  EXPECT_EQ(with(ops::CumulativeFn::Sum, false, true), (Floats{10, 9, 7, 4}));
  EXPECT_EQ(with(ops::CumulativeFn::Prod, true, true), (Floats{24, 12, 4, 1}));
}

TEST(OneHot, OutOfRangeIsOff) {
  const Tensor y = run(ops::OneHot(1, 3), {ints({3}, {1, -1, 7}), floats({2}, {0, 5})});
  EXPECT_EQ(dims(y), (Ints{3, 3}));
  EXPECT_EQ(values(y), (Floats{0, 5, 0, 0, 0, 5, 0, 0, 0}));
}

TEST(NonZero, RowMajorAndScalar) {
  const Tensor y = run(ops::NonZero(kFresh), {floats({2, 2}, {0, 1, 2, 0})});
  EXPECT_EQ(dims(y), (Ints{2, 2}));
  EXPECT_EQ(y.to_i64(), (Ints{0, 1, 1, 0}));
  EXPECT_EQ(dims(run(ops::NonZero(kFresh), {Tensor::scalar(1.0f)})), (Ints{0, 1}));
}

TEST(Compress, AxisAndFlat) {
  const Tensor x = counting({2, 3});
  const Tensor pick = Tensor::of<bool>({3}, {true, false, true});
  EXPECT_EQ(values(run(ops::Compress(1, kFresh), {x, pick})), (Floats{0, 2, 3, 5}));
  EXPECT_EQ(values(run(ops::Compress(std::nullopt, kFresh), {x, pick})), (Floats{0, 2}));
  error_of([&] { run(ops::Compress(0, kFresh), {x, pick}); });
}

TEST(Unique, SortedUnsortedAndAxis) {
  const Tensor x = floats({5}, {2, 1, 2, 3, 1});
  const auto sorted = evaluate(ops::Unique(std::nullopt, true, kFresh), {x});
  EXPECT_EQ(values(sorted[0]), (Floats{1, 2, 3}));
  EXPECT_EQ(sorted[1].to_i64(), (Ints{1, 0, 3}));
  EXPECT_EQ(sorted[2].to_i64(), (Ints{1, 0, 1, 2, 0}));
  EXPECT_EQ(sorted[3].to_i64(), (Ints{2, 2, 1}));
  const auto as_seen = evaluate(ops::Unique(std::nullopt, false, kFresh), {x});
  EXPECT_EQ(values(as_seen[0]), (Floats{2, 1, 3}));
  EXPECT_EQ(as_seen[2].to_i64(), (Ints{0, 1, 0, 2, 1}));
  const auto rows = evaluate(ops::Unique(0, true, kFresh), {floats({3, 2}, {5, 6, 1, 2, 5, 6})});
  EXPECT_EQ(values(rows[0]), (Floats{1, 2, 5, 6}));
  EXPECT_EQ(rows[2].to_i64(), (Ints{1, 0, 1}));
}

TEST(Trilu, Diagonals) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values(run(ops::Trilu(true, 0), {x})), (Floats{1, 2, 3, 0, 5, 6}));
  EXPECT_EQ(values(run(ops::Trilu(true, 1), {x})), (Floats{0, 2, 3, 0, 0, 6}));
  EXPECT_EQ(values(run(ops::Trilu(false, 0), {x})), (Floats{1, 0, 0, 4, 5, 0}));
  EXPECT_EQ(values(run(ops::Trilu(false, 0), {x, ints({}, {-1})})), (Floats{0, 0, 0, 4, 0, 0}));
  EXPECT_EQ(values(run(ops::Trilu(true, std::numeric_limits<std::int64_t>::min()), {x})),
            values(x));
}

TEST(ReverseSequence, ByLength) {
  const Tensor y = run(ops::ReverseSequence(0, 1), {counting({3, 2}), ints({2}, {3, 2})});
  EXPECT_EQ(values(y), (Floats{4, 3, 2, 1, 0, 5}));
}

}  // namespace
}  // namespace treadle::test
