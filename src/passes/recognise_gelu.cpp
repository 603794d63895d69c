// ½·x·(1 + Erf(x/√2)) → Gelu(x); ½·x·(1 + Tanh(√(2/π)·(x + 0.044715·x³))) → GeluTanh(x), in any
// order of the factors. Leaves fewer operators.
#include <array>
#include <cmath>
#include <numbers>

#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

using ops::BinaryFn;
using ops::Unary;
using ops::UnaryFn;

// Coefficients of 1, x, x², x³.
using Cubic = std::array<double, 4>;

std::optional<Cubic> product(const Cubic& a, const Cubic& b) {
  Cubic out{};
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      const double term = a[i] * b[j];
      if (term == 0) continue;
      if (i + j > 3) return std::nullopt;
      out[i + j] += term;
    }
  }
  return out;
}

// v as a polynomial in x; nothing when it is none of degree 3 or less, or is written in too many
// steps.
std::optional<Cubic> polynomial(const Graph& g, ValueId v, ValueId x, int depth) {
  if (v == x) return Cubic{0, 1, 0, 0};
  if (const auto c = scalar(g, v)) return Cubic{*c, 0, 0, 0};
  if (depth == 0) return std::nullopt;
  if (const auto base = squared(g, v)) {
    const auto p = polynomial(g, *base, x, depth - 1);
    return p ? product(*p, *p) : std::nullopt;
  }
  const auto* op = made_by<ops::Binary>(g, v);
  if (op == nullptr) return std::nullopt;
  const auto a = polynomial(g, input_of(g, v, 0), x, depth - 1);
  const auto b = polynomial(g, input_of(g, v, 1), x, depth - 1);
  if (!a || !b) return std::nullopt;
  const bool scalar_b = (*b)[1] == 0 && (*b)[2] == 0 && (*b)[3] == 0;
  Cubic out = *a;
  switch (op->fn) {
    case BinaryFn::Add:
      for (std::size_t i = 0; i < 4; ++i) out[i] += (*b)[i];
      return out;
    case BinaryFn::Sub:
      for (std::size_t i = 0; i < 4; ++i) out[i] -= (*b)[i];
      return out;
    case BinaryFn::Mul:
      return product(*a, *b);
    case BinaryFn::Div:
      if (!scalar_b || (*b)[0] == 0) return std::nullopt;
      for (double& c : out) c /= (*b)[0];
      return out;
    case BinaryFn::Pow: {
      if (!scalar_b || (*b)[0] != 3) return std::nullopt;
      const auto square = product(*a, *a);
      return square ? product(*square, *a) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

// A product's factors that are not scalars, and the scalar.
struct Factors {
  std::vector<ValueId> values;
  double c = 1;
};

void collect(const Graph& g, ValueId v, bool root, int depth, Factors& out) {
  if (const auto c = scalar(g, v)) {
    out.c *= *c;
    return;
  }
  if (depth > 0 && (root || used_once(g, v))) {
    if (const auto in = binary_inputs(g, v, BinaryFn::Mul)) {
      collect(g, in->first, false, depth - 1, out);
      collect(g, in->second, false, depth - 1, out);
      return;
    }
    const auto in = binary_inputs(g, v, BinaryFn::Div);
    if (const auto c = in ? scalar(g, in->second) : std::nullopt; c && *c != 0) {
      out.c /= *c;
      collect(g, in->first, false, depth - 1, out);
      return;
    }
  }
  out.values.push_back(v);
}

// v = p·f(arg) + q for f one of Erf and Tanh.
struct Gate {
  UnaryFn fn;
  ValueId arg;
  double p = 1, q = 0;
};

std::optional<Gate> gate_of(const Graph& g, ValueId v) {
  Gate gate{};
  double after = 1;
  gate.p = 1;
  for (int steps = 0; steps < 4; ++steps) {
    if (const auto* op = made_by<Unary>(g, v)) {
      if (op->fn != UnaryFn::Erf && op->fn != UnaryFn::Tanh) return std::nullopt;
      gate.fn = op->fn;
      gate.arg = input_of(g, v);
      gate.p = after;
      return gate;
    }
    if (const auto sum = shifted(g, v)) {
      gate.q += after * sum->c;
      v = sum->x;
    } else if (const auto scale = scaled(g, v)) {
      after *= scale->c;
      v = scale->x;
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

bool matches(const Cubic& got, const Cubic& want, DType dtype) {
  for (std::size_t i = 0; i < 4; ++i) {
    if (want[i] == 0 ? got[i] != 0 : !near(got[i], want[i], dtype)) return false;
  }
  return true;
}

std::optional<UnaryFn> gelu_of(const Graph& g, ValueId x, ValueId factor, double c) {
  const auto gate = gate_of(g, factor);
  const DType dtype = g.fact(x).dtype;
  if (!gate || !near(c * gate->p, 0.5, dtype) || !near(c * gate->q, 0.5, dtype)) {
    return std::nullopt;
  }
  const auto p = polynomial(g, gate->arg, x, 5);
  if (!p) return std::nullopt;
  if (gate->fn == UnaryFn::Erf) {
    const bool fits = matches(*p, {0, 1 / std::numbers::sqrt2, 0, 0}, dtype);
    return fits ? std::optional(UnaryFn::Gelu) : std::nullopt;
  }
  const double k = std::sqrt(2 / std::numbers::pi);
  const bool fits = matches(*p, {0, k, 0, 0.044715 * k}, dtype);
  return fits ? std::optional(UnaryFn::GeluTanh) : std::nullopt;
}

}  // namespace

std::optional<Patch> recognise_gelu(const Graph& g, const Node& n) {
  const BinaryFn root = n.op->as<ops::Binary>()->fn;
  if (!is_float(n.outputs[0].fact.dtype)) return std::nullopt;
  if (root != BinaryFn::Mul && root != BinaryFn::Div) return std::nullopt;
  Factors factors;
  collect(g, output_of(n), true, 4, factors);
  if (factors.values.size() != 2) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const ValueId x = factors.values[i];
    if (const auto fn = gelu_of(g, x, factors.values[1 - i], factors.c)) {
      return rewrite(g, n, make_op<Unary>(*fn), {x});
    }
  }
  return std::nullopt;
}

}  // namespace treadle::passes
