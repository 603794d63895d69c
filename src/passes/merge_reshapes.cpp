// Reshape(Reshape(x)) → Reshape(x), also where one of the two is a Squeeze or an Unsqueeze.
// Shortens the chain.
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

bool is_reshape(const Operator& op) {
  return op.as<ops::Reshape>() != nullptr || op.as<ops::Squeeze>() != nullptr ||
         op.as<ops::Unsqueeze>() != nullptr;
}

}  // namespace

std::optional<Patch> merge_reshapes(const Graph& g, const Node& n) {
  const Node* inner = producer(g, n.inputs[0]);
  if (!is_reshape(*inner->op)) return std::nullopt;
  const ValueId x = inner->inputs[0];
  if (g.fact(x).same_type(n.outputs[0].fact)) return bypass(g, n, x);
  return rewrite(g, n, make_op<ops::Reshape>(n.outputs[0].fact.shape), {x});
}

}  // namespace treadle::passes
