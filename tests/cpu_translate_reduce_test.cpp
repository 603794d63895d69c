#include <limits>

#include "cpu_translate_util.hpp"
#include "ops/norm.hpp"
#include "ops/reduce.hpp"
#include "ops/softmax.hpp"

namespace treadle::cpu::test {
namespace {

using ops::ReduceFn;

struct Case {
  Shape shape;
  std::vector<std::int64_t> axes;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {{7}, {0}},
      {{3, 50}, {1}},
      {{50, 3}, {0}},
      {{2, 9, 5}, {1}},
      {{1, 7, 7, 65}, {1, 2}},
      {{2, 65, 7, 7}, {2, 3}},
      {{2, 3, 4, 5}, {0, 2}},
      {{2, 3, 4, 5}, {1, 3}},
      {{2, 3, 4, 5}, {0, 1, 2, 3}},
      {{3, 1000}, {1}},
      {{300, 300}, {0}},
      {{2, 1, 600}, {1}},
      {{1, 1}, {0, 1}},
      {{5, 0, 3}, {1}},
      {{0, 4}, {1}},
      {{3, 70, 2, 5}, {0, 2}},
      {{2, 100000}, {1}},
      {{100000, 2}, {0}},
  };
  return list;
}

TEST(TranslateReduce, AgreesWithTheReference) {
  std::mt19937 random(1);
  for (const Case& c : cases()) {
    for (const ReduceFn f : {ReduceFn::Sum, ReduceFn::Mean, ReduceFn::Max, ReduceFn::Min,
                             ReduceFn::L1, ReduceFn::L2, ReduceFn::SumSquare}) {
      expect_reference(make_op<ops::Reduce>(f, c.axes), {random_f32(random, c.shape)}, 1e-6);
    }
    expect_reference(make_op<ops::Reduce>(ReduceFn::Prod, c.axes),
                     {random_f32(random, c.shape, 0.9999f, 1.0001f)},
                     1e-6 + 6e-8 * static_cast<double>(c.shape.elements()));
  }
}

TEST(TranslateReduce, NanWins) {
  std::mt19937 random(2);
  for (const std::int64_t axis : {0, 1}) {
    Tensor x = random_f32(random, {9, 21});
    x.mutable_span<float>()[100] = std::numeric_limits<float>::quiet_NaN();
    for (const ReduceFn f : {ReduceFn::Max, ReduceFn::Min, ReduceFn::Sum}) {
      expect_reference(make_op<ops::Reduce>(f, std::vector<std::int64_t>{axis}), {x}, 1e-6);
    }
    for (const bool max : {false, true}) {
      for (const bool last : {false, true}) {
        expect_reference(make_op<ops::ArgReduce>(max, axis, last), {x}, 0);
      }
    }
  }
}

TEST(TranslateReduce, ArgReduce) {
  std::mt19937 random(3);
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{4, 33, 5}, Shape{2, 7, 1000}}) {
    // Few different values, so that there are equals.
    Tensor x = random_f32(random, shape);
    for (float& v : x.mutable_span<float>()) v = std::floor(v);
    for (const std::int64_t axis : {0, 1, 2}) {
      for (const bool max : {false, true}) {
        for (const bool last : {false, true}) {
          expect_reference(make_op<ops::ArgReduce>(max, axis, last), {x}, 0);
        }
      }
    }
  }
  EXPECT_THROW(
      run_kernel(make_op<ops::ArgReduce>(true, 1, false), {Tensor(DType::F32, Shape{2, 0})}),
      Error);
}

TEST(TranslateSoftmax, AgreesWithTheReference) {
  std::mt19937 random(4);
  const Case list[] = {{{5}, {0}},          {{3, 1000}, {1}}, {{2, 3, 7}, {1}}, {{4, 21, 600}, {1}},
                       {{2, 3, 4}, {1, 2}}, {{1, 1}, {1}},    {{0, 3}, {1}},    {{2, 5000}, {1}},
                       {{12, 17, 17}, {2}}, {{7, 3}, {0}}};
  for (const Case& c : list) {
    for (const bool log : {false, true}) {
      expect_reference(make_op<ops::Softmax>(c.axes, log), {random_f32(random, c.shape, -30, 30)},
                       1e-6);
    }
  }
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::of<float>({3, 3}, {0, -inf, 1, -inf, -inf, -inf, 2, inf, 1});
  for (const bool log : {false, true}) {
    for (const std::int64_t axis : {0, 1}) {
      expect_reference(make_op<ops::Softmax>(std::vector<std::int64_t>{axis}, log), {x}, 1e-6);
    }
  }
}

TEST(TranslateNorm, AgreesWithTheReference) {
  std::mt19937 random(5);
  const Case list[] = {
      {{3, 768}, {1}}, {{2, 5, 7, 9}, {2, 3}}, {{2, 7, 9, 300}, {1, 2}}, {{4, 6}, {0}},
      {{1, 1}, {1}},   {{0, 3}, {1}},          {{2, 3, 4, 5}, {1, 2, 3}}};
  for (const Case& c : list) {
    for (const bool center : {false, true}) {
      expect_reference(make_op<ops::Norm>(c.axes, 1e-5, center),
                       {random_f32(random, c.shape, 9, 11)}, 2e-5);
    }
  }
}

}  // namespace
}  // namespace treadle::cpu::test
