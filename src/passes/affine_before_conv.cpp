// Conv(x·s, w) → Conv(x, w·s); without padding Conv(x+t, w, b) → Conv(x, w, b + Σ w·t), with
// constants s, t that vary along the channels only; the second only where it keeps_digits. Leaves
// fewer operators.
#include <algorithm>

#include "ops/reduce.hpp"
#include "passes/channel_constant.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

using ops::Conv;

bool unpadded(const ops::Padding& p) {
  const auto zero = [](std::int64_t v) { return v == 0; };
  return p.mode == ops::AutoPad::Valid ||
         (p.mode == ops::AutoPad::Explicit && std::all_of(p.before.begin(), p.before.end(), zero) &&
          std::all_of(p.after.begin(), p.after.end(), zero));
}

// Σ (Sum) or Σ |…| (L1) over all but the output channels, as [Cout].
Tensor sum_to_outputs(ops::ReduceFn fn, const Tensor& w, int keep) {
  std::vector<std::int64_t> axes;
  for (int i = 0; i < w.rank(); ++i) {
    if (i != keep) axes.push_back(i);
  }
  const std::int64_t n = w.shape()[static_cast<std::size_t>(keep)];
  return evaluate_constant(ops::Reduce(fn, axes), {w}).reshaped(Shape({n}));
}

}  // namespace

std::optional<Patch> affine_before_conv(const Graph& g, const Node& n) {
  const auto& op = *n.op->as<Conv>();
  const ValueId x = n.inputs[0];
  const Tensor* w = constant(g, n.inputs[1]);
  if (w == nullptr || !used_once(g, x)) return std::nullopt;
  const auto step = channel_step(g, x, ops::channel_axis(op.layout, g.fact(x).rank()));
  if (!step || (op.group != 1 && !step->is_scalar())) return std::nullopt;
  if (step->fn == ops::BinaryFn::Add && is_16_bit_float(w->dtype())) return std::nullopt;
  const auto scaled = folded(
      ops::BinaryFn::Mul, *w,
      along_axis(step->c, w->rank(), input_channel_axis(op.weight_layout, w->rank())), Of::Weights);
  if (!scaled) return std::nullopt;

  Patch patch(g);
  std::vector<ValueId> inputs = n.inputs;
  inputs[0] = step->x;
  if (step->fn == ops::BinaryFn::Mul) {
    inputs[1] = patch.constant(n.name + ".weight", *scaled);
  } else {
    const bool has_bias = n.inputs.size() > 2 && n.inputs[2].present();
    const Tensor* b = has_bias ? constant(g, n.inputs[2]) : nullptr;
    if (!unpadded(op.padding) || (has_bias && b == nullptr)) return std::nullopt;
    const int outputs = output_channel_axis(op.weight_layout, w->rank());
    if (!keeps_digits(g, step->x, sum_to_outputs(ops::ReduceFn::L1, *scaled, outputs))) {
      return std::nullopt;
    }
    Tensor sum = sum_to_outputs(ops::ReduceFn::Sum, *scaled, outputs);
    if (b != nullptr) sum = evaluate_constant(ops::Binary(ops::BinaryFn::Add), {*b, sum});
    inputs.resize(3);
    inputs[2] = patch.constant(n.name + ".bias", sum);
  }
  const ValueId made = patch.add1(n.name, n.op, inputs);
  return replacing(g, std::move(patch), output_of(n), made);
}

}  // namespace treadle::passes
