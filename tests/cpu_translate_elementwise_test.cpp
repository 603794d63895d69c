#include "cpu/elementwise.hpp"
#include "cpu_translate_util.hpp"
#include "ops/binary.hpp"
#include "ops/unary.hpp"

namespace treadle::cpu::test {
namespace {

using ops::BinaryFn;
using ops::UnaryFn;

TEST(TranslateElementwise, UnaryFunctions) {
  std::mt19937 random(1);
  const UnaryFn any[] = {
      UnaryFn::Abs,      UnaryFn::Neg,         UnaryFn::Sign,      UnaryFn::Floor,
      UnaryFn::Ceil,     UnaryFn::Round,       UnaryFn::Square,    UnaryFn::Exp,
      UnaryFn::Erf,      UnaryFn::Sin,         UnaryFn::Cos,       UnaryFn::Tanh,
      UnaryFn::Relu,     UnaryFn::LeakyRelu,   UnaryFn::Elu,       UnaryFn::Selu,
      UnaryFn::Sigmoid,  UnaryFn::HardSigmoid, UnaryFn::HardSwish, UnaryFn::Silu,
      UnaryFn::Softplus, UnaryFn::Softsign,    UnaryFn::Mish,      UnaryFn::Gelu,
      UnaryFn::GeluTanh, UnaryFn::Clip};
  for (const UnaryFn f : any) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{7}, Shape{3, 1, 20001}, Shape{0, 4}}) {
      expect_reference(make_op<ops::Unary>(f, 0.3, 1.5), {random_f32(random, shape)}, 1e-6);
    }
  }
  for (const UnaryFn f : {UnaryFn::Sqrt, UnaryFn::Rsqrt, UnaryFn::Log, UnaryFn::Reciprocal}) {
    expect_reference(make_op<ops::Unary>(f), {random_f32(random, {33, 5}, 0.01f, 9)}, 1e-6);
  }
}

struct Pair {
  Shape a, b;
};

TEST(TranslateElementwise, BinaryBroadcasts) {
  std::mt19937 random(2);
  const Pair pairs[] = {
      {{}, {}},
      {{5}, {5}},
      {{5}, {1}},
      {{1}, {6}},
      {{3, 4, 5}, {3, 4, 5}},
      {{2, 3, 700}, {1, 1, 700}},
      {{2, 7, 9, 3}, {1, 1, 1, 3}},
      {{2, 5, 7, 7}, {1, 5, 1, 1}},
      {{2, 5, 40, 41}, {1, 5, 1, 1}},
      {{2, 5, 40, 41}, {2, 5, 1, 1}},
      {{4, 1, 6}, {1, 5, 1}},
      {{4, 1, 300}, {1, 5, 1}},
      {{1, 3, 1, 5}, {2, 1, 4, 1}},
      {{1, 12, 33, 65}, {1, 1, 33, 65}},
      {{6, 1, 65}, {1, 1, 1}},
      {{2, 0, 3}, {1, 1, 3}},
      {{300, 2, 2}, {300, 1, 2}},
      {{1, 2000}, {30, 1}},
  };
  for (const Pair& p : pairs) {
    for (const BinaryFn f : {BinaryFn::Add, BinaryFn::Sub, BinaryFn::Div, BinaryFn::Max}) {
      const Tensor a = random_f32(random, p.a, 0.5f, 2), b = random_f32(random, p.b, 0.5f, 2);
      expect_reference(make_op<ops::Binary>(f), {a, b}, 1e-6);
      expect_reference(make_op<ops::Binary>(f), {b, a}, 1e-6);
    }
  }
}

TEST(TranslateElementwise, BinaryFunctions) {
  std::mt19937 random(3);
  for (const BinaryFn f : {BinaryFn::Mul, BinaryFn::Min, BinaryFn::Pow, BinaryFn::PRelu,
                           BinaryFn::SquaredDifference}) {
    const float low = f == BinaryFn::Pow ? 0.1f : -3;
    expect_reference(make_op<ops::Binary>(f),
                     {random_f32(random, {3, 77}, low), random_f32(random, {1, 77})}, 1e-6);
  }
  const Tensor two = Tensor::of<float>(Shape{1, 1}, {2.0f});
  expect_reference(make_op<ops::Binary>(BinaryFn::Pow), {random_f32(random, {3, 5}), two}, 1e-6,
                   {false, true});
}

// silu(a + b) · (c − a) + 2, over different broadcasts.
TEST(TranslateElementwise, ProgramOfSeveralSteps) {
  using kernels::ElementwiseStep;
  using kernels::Fn1;
  using kernels::Fn2;
  std::mt19937 random(4);
  const kernels::ElementwiseProgram program(
      4, {ElementwiseStep::binary(Fn2::Add, 0, 1), ElementwiseStep::unary(Fn1::Silu, 4, 1),
          ElementwiseStep::binary(Fn2::Sub, 2, 0), ElementwiseStep::binary(Fn2::Mul, 5, 6),
          ElementwiseStep::binary(Fn2::Add, 7, 3)});
  for (const std::int64_t width : {1, 5, 300, 5000}) {
    const Shape out{3, 4, width};
    const Shape shapes[] = {out, {1, 1, width}, {1, 4, 1}, {1, 1, 1}};
    const Tensor a = random_f32(random, shapes[0]), b = random_f32(random, shapes[1]),
                 c = random_f32(random, shapes[2]), d = Tensor::of<float>(shapes[3], {2.0f});
    Tensor y(DType::F32, out);
    const kernels::BoundElementwise bound(program, out, shapes);
    const float* in[] = {a.span<float>().data(), b.span<float>().data(), c.span<float>().data(),
                         d.span<float>().data()};
    bound.run(in, y.mutable_span<float>().data(), serial());
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const auto at = [](const Tensor& t, std::int64_t k) {
        return static_cast<double>(t.span<float>()[static_cast<std::size_t>(k)]);
      };
      const double s = at(a, i) + at(b, i % width);
      const double want = s / (1 + std::exp(-s)) * (at(c, i / width % 4) - at(a, i)) + 2;
      ASSERT_NEAR(at(y, i), want, 2e-6 * std::max(1.0, std::fabs(want))) << width << ' ' << i;
    }
  }
}

TEST(TranslateElementwise, ProgramRefusesWhatDoesNotFit) {
  using kernels::ElementwiseProgram;
  using kernels::ElementwiseStep;
  EXPECT_THROW(ElementwiseProgram(1, {ElementwiseStep::unary(kernels::Fn1::Relu, 1)}), Error);
  EXPECT_THROW(ElementwiseProgram(9, {ElementwiseStep::unary(kernels::Fn1::Relu, 0)}), Error);
  EXPECT_THROW(ElementwiseProgram(1, {}), Error);
  // Nine results that all live until the end.
  std::vector<ElementwiseStep> wide;
  for (int i = 0; i < 9; ++i) wide.push_back(ElementwiseStep::unary(kernels::Fn1::Relu, 0));
  for (int i = 0; i < 8; ++i) {
    wide.push_back(ElementwiseStep::binary(kernels::Fn2::Add, i == 0 ? 1 : 9 + i, i + 2));
  }
  EXPECT_FALSE(ElementwiseProgram::fits(1, wide));
  const Shape small{2}, out{3};
  EXPECT_THROW(kernels::BoundElementwise(
                   ElementwiseProgram(1, {ElementwiseStep::unary(kernels::Fn1::Relu, 0)}), out,
                   std::span<const Shape>(&small, 1)),
               Error);
}

}  // namespace
}  // namespace treadle::cpu::test
