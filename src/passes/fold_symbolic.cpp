// f(…) whose integer elements are known expressions over sizes → SymbolicConstant. Leaves fewer
// operators that are not constants.
#include "ops/symbolic_constant.hpp"
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {

std::optional<Patch> fold_symbolic(const Graph& g, const Node& n) {
  if (!n.op->pure() || n.inputs.empty() || n.outputs.size() != 1) return std::nullopt;
  const Fact& fact = n.outputs[0].fact;
  if (fact.kind != Fact::Kind::Tensor || !fact.dims || fact.value) return std::nullopt;
  return rewrite(g, n, make_op<ops::SymbolicConstant>(*fact.dims, fact.dtype, fact.shape), {});
}

}  // namespace treadle::passes
