#include <numeric>

#include "cpu_translate_util.hpp"
#include "ops/axis.hpp"
#include "ops/move.hpp"

namespace treadle::cpu::test {
namespace {

const DType kDTypes[] = {DType::U8,   DType::F16, DType::F32,     DType::I64,
                         DType::C128, DType::I4,  DType::F8E4M3FN};

TEST(TranslateMove, TransposesOfEveryOrder) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    const int rank = 1 + round % 5;
    Shape shape;
    Perm perm(static_cast<std::size_t>(rank));
    std::iota(perm.begin(), perm.end(), 0);
    std::shuffle(perm.begin(), perm.end(), random);
    for (int i = 0; i < rank; ++i) shape.push_back(pick(random, 1, rank < 4 ? 39 : 9));
    for (const DType dtype : kDTypes) {
      expect_reference(make_op<ops::Transpose>(perm), {random_bytes(random, dtype, shape)}, 0);
    }
  }
  for (const Shape& shape : {Shape{1, 3, 224, 225}, Shape{1, 65, 70, 3}, Shape{2, 0, 3, 4}}) {
    for (const Perm& perm : {Perm{0, 2, 3, 1}, Perm{0, 3, 1, 2}, Perm{0, 2, 1, 3}}) {
      expect_reference(make_op<ops::Transpose>(perm), {random_bytes(random, DType::F32, shape)}, 0);
    }
  }
}

TEST(TranslateMove, ExpandTileConcat) {
  std::mt19937 random(2);
  for (const DType dtype : kDTypes) {
    expect_reference(make_op<ops::Expand>(SymShape{2, 3, 4, 5}),
                     {random_bytes(random, dtype, {1, 3, 1, 5})}, 0);
    expect_reference(make_op<ops::Expand>(SymShape{2, 3, 700}),
                     {random_bytes(random, dtype, {2, 1, 1})}, 0);
    expect_reference(make_op<ops::Tile>(SymShape{2, 1, 3}),
                     {random_bytes(random, dtype, {3, 4, 2})}, 0);
    expect_reference(make_op<ops::Tile>(SymShape{2, 0}), {random_bytes(random, dtype, {3, 4})}, 0);
    expect_reference(make_op<ops::Tile>(SymShape{3, 2}), {random_bytes(random, dtype, {3, 0})}, 0);
    for (const std::int64_t axis : {0, 1, 2}) {
      std::vector<Tensor> parts;
      for (const std::int64_t size : {3, 0, 1, 5}) {
        Shape shape{2, 3, 4};
        shape[static_cast<std::size_t>(axis)] = size;
        parts.push_back(random_bytes(random, dtype, shape));
      }
      expect_reference(make_op<ops::Concat>(axis), parts, 0);
    }
  }
}

TEST(TranslateMove, Slices) {
  std::mt19937 random(3);
  for (const DType dtype : kDTypes) {
    const Tensor x = random_bytes(random, dtype, {7, 9, 5});
    const struct {
      std::int64_t axis, start, length, step;
    } list[] = {{0, 2, 3, 1}, {1, 8, 9, -1}, {2, 4, 3, -2}, {1, 0, 5, 2},
                {2, 1, 1, 1}, {0, 0, 0, 1},  {1, 0, 9, 1},  {0, 6, 1, -100}};
    for (const auto& s : list) {
      expect_reference(make_op<ops::Slice>(s.axis, s.start, s.length, s.step), {x}, 0);
    }
  }
  const Tensor x = random_bytes(random, DType::F32, {7, 9});
  EXPECT_THROW(run_kernel(make_op<ops::Slice>(1, 5, 5, 1), {x}), Error);
  EXPECT_THROW(run_kernel(make_op<ops::Slice>(1, -1, 2, 1), {x}), Error);
  EXPECT_THROW(run_kernel(make_op<ops::Slice>(1, 1, 3, INT64_MIN), {x}), Error);
}

TEST(TranslateMove, ConstantPadding) {
  std::mt19937 random(4);
  for (const DType dtype : {DType::U8, DType::F16, DType::F32, DType::I64}) {
    const Tensor x = random_bytes(random, dtype, {2, 5, 6});
    ops::Pad p;
    p.before = {0, 1, 2};
    p.after = {1, 0, 3};
    expect_reference(make_op<ops::Pad>(p), {x}, 0);
    expect_reference(make_op<ops::Pad>(p), {x, random_bytes(random, dtype, {})}, 0);
    p.before = {0, -2, 2};
    p.after = {0, 4, -3};
    expect_reference(make_op<ops::Pad>(p), {x}, 0);
  }
}

TEST(TranslateMove, Gathers) {
  std::mt19937 random(5);
  for (const DType dtype : kDTypes) {
    const Tensor x = random_bytes(random, dtype, {4, 5, 6});
    for (const std::int64_t axis : {0, 1, 2}) {
      const Tensor wide = Tensor::of<std::int64_t>({2, 2}, {3, -1, 0, -4});
      const Tensor narrow = Tensor::of<std::int32_t>({3}, {1, -2, 2});
      expect_reference(make_op<ops::Gather>(axis), {x, wide}, 0);
      expect_reference(make_op<ops::Gather>(axis), {x, narrow}, 0);
    }
  }
  const Tensor x = random_bytes(random, DType::F32, {4, 5});
  for (const std::int64_t bad : {std::int64_t{4}, std::int64_t{-5}, INT64_MAX, INT64_MIN}) {
    EXPECT_THROW(run_kernel(make_op<ops::Gather>(0), {x, Tensor::of<std::int64_t>({1}, {bad})}),
                 Error);
  }
}

}  // namespace
}  // namespace treadle::cpu::test
