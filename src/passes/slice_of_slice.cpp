// Slice(Slice(x, a, s), b, t) along one axis → Slice(x, a + b·s, s·t). Shortens the chain.
#include "ops/move.hpp"
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {

std::optional<Patch> slice_of_slice(const Graph& g, const Node& n) {
  const auto& outer = *n.op->as<ops::Slice>();
  const auto* inner = made_by<ops::Slice>(g, n.inputs[0]);
  if (inner == nullptr || inner->axis != outer.axis) return std::nullopt;
  if (!outer.length.is_const() || outer.length.is(0)) return std::nullopt;
  const Dim start = inner->start + outer.start * Dim(inner->step);
  const std::int64_t step = checked_mul(inner->step, outer.step);
  return rewrite(g, n, make_op<ops::Slice>(outer.axis, start, outer.length, step),
                 {input_of(g, n.inputs[0])});
}

}  // namespace treadle::passes
