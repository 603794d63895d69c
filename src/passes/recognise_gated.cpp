// x·Sigmoid(a·x) → Silu(x; a), x·HardSigmoid(x; 1/6, 1/2) = x·Clip[0, 6](x + 3)/6 → HardSwish(x),
// x·Tanh(Softplus(x)) → Mish(x). Leaves fewer operators.
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

using ops::BinaryFn;
using ops::Unary;
using ops::UnaryFn;

// x·gate as one function of x; null when it is none.
OperatorPtr gated(const Graph& g, ValueId x, ValueId gate) {
  const auto* op = made_by<Unary>(g, gate);
  if (op == nullptr) return nullptr;
  const DType dtype = g.fact(x).dtype;
  const ValueId arg = input_of(g, gate);
  if (op->fn == UnaryFn::Sigmoid) {
    if (arg == x) return make_op<Unary>(UnaryFn::Silu, 1.0);
    const auto scale = scaled(g, arg);
    if (scale && scale->x == x) return make_op<Unary>(UnaryFn::Silu, scale->c);
  }
  if (op->fn == UnaryFn::HardSigmoid && arg == x && near(op->a, 1.0 / 6, dtype) &&
      near(op->b, 0.5, dtype)) {
    return make_op<Unary>(UnaryFn::HardSwish);
  }
  if (op->fn == UnaryFn::Tanh && unary_input(g, arg, UnaryFn::Softplus) == x) {
    return make_op<Unary>(UnaryFn::Mish);
  }
  return nullptr;
}

// Whether gate is Clip[0, 6](x + 3).
bool is_clipped_shift(const Graph& g, ValueId x, ValueId gate) {
  const auto* clip = made_by<Unary>(g, gate);
  if (clip == nullptr || clip->fn != UnaryFn::Clip || clip->a != 0 || clip->b != 6) return false;
  const auto shift = shifted(g, input_of(g, gate));
  return shift && shift->x == x && shift->c == 3;
}

std::optional<Patch> hard_swish(const Graph& g, const Node& n) {
  const auto scale = scaled(g, output_of(n));
  if (!scale || !near(scale->c, 1.0 / 6, n.outputs[0].fact.dtype) || !used_once(g, scale->x)) {
    return std::nullopt;
  }
  const auto in = binary_inputs(g, scale->x, BinaryFn::Mul);
  if (!in) return std::nullopt;
  const auto [a, b] = *in;
  if (!is_clipped_shift(g, a, b) && !is_clipped_shift(g, b, a)) return std::nullopt;
  return rewrite(g, n, make_op<Unary>(UnaryFn::HardSwish), {is_clipped_shift(g, a, b) ? a : b});
}

}  // namespace

std::optional<Patch> recognise_gated(const Graph& g, const Node& n) {
  if (!is_float(n.outputs[0].fact.dtype)) return std::nullopt;
  if (auto patch = hard_swish(g, n)) return patch;
  if (n.op->as<ops::Binary>()->fn != BinaryFn::Mul) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const ValueId x = n.inputs[i], gate = n.inputs[1 - i];
    if (OperatorPtr op = gated(g, x, gate)) return rewrite(g, n, std::move(op), {x});
  }
  return std::nullopt;
}

}  // namespace treadle::passes
