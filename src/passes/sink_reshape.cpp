// f(Reshape(x)) → Reshape(f(x)) for elementwise f of one operand (and constants of one element).
// Moves reshapes towards the outputs, where they meet others.
#include "ops/cast.hpp"
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

bool is_reshape(const Graph& g, ValueId v) {
  return made_by<ops::Reshape>(g, v) != nullptr || made_by<ops::Squeeze>(g, v) != nullptr ||
         made_by<ops::Unsqueeze>(g, v) != nullptr;
}

}  // namespace

std::optional<Patch> sink_reshape(const Graph& g, const Node& n) {
  std::size_t at = 0;
  if (n.op->as<ops::Binary>() != nullptr && constant(g, n.inputs[0]) != nullptr) at = 1;
  const ValueId reshaped = n.inputs[at];
  if (!is_reshape(g, reshaped) || !used_once(g, reshaped)) return std::nullopt;
  const ValueId x = input_of(g, reshaped);
  if (g.fact(reshaped).shape != n.outputs[0].fact.shape) return std::nullopt;
  Patch patch(g);
  std::vector<ValueId> inputs = n.inputs;
  inputs[at] = x;
  if (n.op->as<ops::Binary>() != nullptr) {
    const Tensor* c = constant(g, n.inputs[1 - at]);
    if (c == nullptr || c->elements() != 1) return std::nullopt;
    const std::vector<std::int64_t> ones(g.fact(x).shape.size(), 1);
    const Shape shape{std::span<const std::int64_t>(ones)};
    inputs[1 - at] = patch.constant(n.name + ".constant", c->reshaped(shape));
  }
  const ValueId made = patch.add1(n.name + ".reshaped", n.op, inputs);
  const ValueId back = patch.add1(n.name, make_op<ops::Reshape>(n.outputs[0].fact.shape), {made});
  return replacing(g, std::move(patch), output_of(n), back);
}

}  // namespace treadle::passes
