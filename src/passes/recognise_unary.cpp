// x^2 = x·x → Square, x^½ → Sqrt, 1/x → Reciprocal, 1/√x → Rsqrt, max(x, a) and min(x, b) → Clip,
// Clip[0, ∞) → Relu, 1/(1 + e^−x) → Sigmoid, log(1 + e^x) → Softplus, max(x, a·x) → LeakyRelu.
// Leaves fewer Binary operators, or fewer operators.
#include <limits>

#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

using ops::BinaryFn;
using ops::Unary;
using ops::UnaryFn;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Found {
  ValueId x;
  UnaryFn fn;
  double a = 0, b = 0;
};

// 1/v.
Found reciprocal(const Graph& g, ValueId v) {
  if (const auto x = unary_input(g, v, UnaryFn::Sqrt)) return {*x, UnaryFn::Rsqrt};
  if (const auto sum = shifted(g, v); sum && sum->c == 1) {
    if (const auto power = unary_input(g, sum->x, UnaryFn::Exp)) {
      if (const auto x = unary_input(g, *power, UnaryFn::Neg)) return {*x, UnaryFn::Sigmoid};
    }
  }
  return {v, UnaryFn::Reciprocal};
}

std::optional<Found> power(const Graph& g, ValueId x, ValueId exponent) {
  const auto c = scalar(g, exponent);
  if (c == 2) return Found{x, UnaryFn::Square};
  if (c == 0.5) return Found{x, UnaryFn::Sqrt};
  if (c == -1) return Found{x, UnaryFn::Reciprocal};
  if (c == -0.5) return Found{x, UnaryFn::Rsqrt};
  return std::nullopt;
}

std::optional<Found> leaky(const Graph& g, ValueId x, ValueId other) {
  const auto slope = scaled(g, other);
  if (!slope || slope->x != x || slope->c <= 0 || slope->c >= 1) return std::nullopt;
  return Found{x, UnaryFn::LeakyRelu, slope->c};
}

std::optional<Found> largest(const Graph& g, ValueId a, ValueId b) {
  if (const auto c = scalar(g, b)) return Found{a, UnaryFn::Clip, *c, kInfinity};
  if (const auto c = scalar(g, a)) return Found{b, UnaryFn::Clip, *c, kInfinity};
  if (const auto found = leaky(g, a, b)) return found;
  return leaky(g, b, a);
}

std::optional<Found> smallest(const Graph& g, ValueId a, ValueId b) {
  if (const auto c = scalar(g, b)) return Found{a, UnaryFn::Clip, -kInfinity, *c};
  if (const auto c = scalar(g, a)) return Found{b, UnaryFn::Clip, -kInfinity, *c};
  return std::nullopt;
}

std::optional<Found> from_binary(const Graph& g, BinaryFn fn, ValueId a, ValueId b) {
  switch (fn) {
    case BinaryFn::Mul:
      return a == b ? std::optional(Found{a, UnaryFn::Square}) : std::nullopt;
    case BinaryFn::Pow:
      return power(g, a, b);
    case BinaryFn::Div:
      return scalar(g, a) == 1 ? std::optional(reciprocal(g, b)) : std::nullopt;
    case BinaryFn::Max:
      return largest(g, a, b);
    case BinaryFn::Min:
      return smallest(g, a, b);
    case BinaryFn::PRelu:
      if (const auto c = scalar(g, b)) return Found{a, UnaryFn::LeakyRelu, *c};
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<Found> from_unary(const Graph& g, const Unary& op, ValueId x) {
  if (op.fn == UnaryFn::Clip && op.a == 0 && op.b == kInfinity) return Found{x, UnaryFn::Relu};
  if (op.fn == UnaryFn::Reciprocal) {
    const Found found = reciprocal(g, x);
    return found.fn == UnaryFn::Reciprocal ? std::nullopt : std::optional(found);
  }
  if (op.fn != UnaryFn::Log) return std::nullopt;
  const auto sum = shifted(g, x);
  if (!sum || sum->c != 1) return std::nullopt;
  const auto in = unary_input(g, sum->x, UnaryFn::Exp);
  return in ? std::optional(Found{*in, UnaryFn::Softplus}) : std::nullopt;
}

}  // namespace

std::optional<Patch> recognise_unary(const Graph& g, const Node& n) {
  if (!is_float(n.outputs[0].fact.dtype)) return std::nullopt;
  std::optional<Found> found;
  if (const auto* op = n.op->as<ops::Binary>()) {
    found = from_binary(g, op->fn, n.inputs[0], n.inputs[1]);
  } else {
    found = from_unary(g, *n.op->as<Unary>(), n.inputs[0]);
  }
  if (!found || constant(g, found->x) != nullptr) return std::nullopt;
  return rewrite(g, n, make_op<Unary>(found->fn, found->a, found->b), {found->x});
}

}  // namespace treadle::passes
