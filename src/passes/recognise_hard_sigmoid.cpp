// Clip[0, 1](x·a + b) → HardSigmoid(x; a, b) and Clip[0, h](x + s)·c with h·c = 1 →
// HardSigmoid(x; c, s·c). Leaves fewer operators.
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

using ops::Unary;
using ops::UnaryFn;

std::optional<Patch> from_clip(const Graph& g, const Node& n, const Unary& clip) {
  if (clip.fn != UnaryFn::Clip || clip.a != 0 || clip.b != 1) return std::nullopt;
  const ValueId sum = n.inputs[0];
  const auto shift = shifted(g, sum);
  if (!shift || !used_once(g, sum) || !used_once(g, shift->x)) return std::nullopt;
  const auto scale = scaled(g, shift->x);
  if (!scale) return std::nullopt;
  return rewrite(g, n, make_op<Unary>(UnaryFn::HardSigmoid, scale->c, shift->c), {scale->x});
}

std::optional<Patch> from_scale(const Graph& g, const Node& n) {
  const auto scale = scaled(g, output_of(n));
  if (!scale || scale->c <= 0 || !used_once(g, scale->x)) return std::nullopt;
  const auto* clip = made_by<Unary>(g, scale->x);
  if (clip == nullptr || clip->fn != UnaryFn::Clip || clip->a != 0) return std::nullopt;
  if (!near(clip->b * scale->c, 1, n.outputs[0].fact.dtype)) return std::nullopt;
  const ValueId sum = input_of(g, scale->x);
  const auto shift = shifted(g, sum);
  if (!shift || !used_once(g, sum)) return std::nullopt;
  const double c = scale->c;
  return rewrite(g, n, make_op<Unary>(UnaryFn::HardSigmoid, c, shift->c * c), {shift->x});
}

}  // namespace

std::optional<Patch> recognise_hard_sigmoid(const Graph& g, const Node& n) {
  if (!is_float(n.outputs[0].fact.dtype)) return std::nullopt;
  if (const auto* op = n.op->as<Unary>()) return from_clip(g, n, *op);
  return from_scale(g, n);
}

}  // namespace treadle::passes
