#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// f(x), elementwise. a and b are the function's parameters where it has some.
enum class UnaryFn : std::uint8_t {
  Abs, Neg, Sign, Reciprocal, Floor, Ceil, Round /*half to even*/, Sqrt, Rsqrt, Square, Exp, Log, Erf,
  Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh,
  Relu, LeakyRelu /*a: slope*/, Elu /*a*/, Selu /*a, b = gamma*/, Celu /*a*/, Sigmoid,
  HardSigmoid /*max(0, min(1, a·x + b))*/, HardSwish /*x·max(0, min(1, x/6 + ½))*/,
  Silu /*x·sigmoid(a·x), a = 1*/, Softplus, Softsign, Mish, Gelu /*erf form*/, GeluTanh /*tanh form*/,
  ThresholdedRelu /*a*/, Shrink /*a = bias, b = lambda*/, Clip /*to [a, b]: min(max(x, a), b)*/,
  Not, BitwiseNot, IsNaN, IsInf /*a: detect positive, b: detect negative, 1 or 0*/,
};

std::string_view name_of(UnaryFn f);

// Output: dtype and shape of the input (Bool for Not, IsNaN, IsInf). NaN propagates through Relu and
// Clip. f16 and bf16 are computed in f32. Integers where the function makes sense on them; Neg and
// Abs wrap.
class Unary final : public Operator {
 public:
  explicit Unary(UnaryFn f, double alpha = 0, double beta = 0) : fn(f), a(alpha), b(beta) {}
  UnaryFn fn;
  double a, b;

  TREADLE_OPERATOR(Unary);
  Cost cost(InputFacts in, std::span<const Fact> out) const override;
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

}  // namespace treadle::ops
