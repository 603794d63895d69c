// Transpose(Transpose(x, p), q) → Transpose(x, q after p). Shortens the chain.
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {

std::optional<Patch> merge_transposes(const Graph& g, const Node& n) {
  const auto* inner = made_by<ops::Transpose>(g, n.inputs[0]);
  if (inner == nullptr) return std::nullopt;
  const ValueId x = input_of(g, n.inputs[0]);
  Perm perm = ops::compose(inner->perm, n.op->as<ops::Transpose>()->perm);
  if (ops::is_identity(perm)) return bypass(g, n, x);
  return rewrite(g, n, make_op<ops::Transpose>(std::move(perm)), {x});
}

}  // namespace treadle::passes
