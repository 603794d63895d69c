// Transpose(x) that moves axes of size 1 only → Reshape(x). Leaves fewer transposes.
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {

std::optional<Patch> transpose_to_reshape(const Graph& g, const Node& n) {
  const Perm& perm = n.op->as<ops::Transpose>()->perm;
  const SymShape& shape = g.fact(n.inputs[0]).shape;
  if (ops::is_identity(perm) || !moves_only_ones(shape, perm)) return std::nullopt;
  return rewrite(g, n, make_op<ops::Reshape>(permuted(shape, perm)), {n.inputs[0]});
}

}  // namespace treadle::passes
