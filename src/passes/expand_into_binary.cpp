// f(Expand(x), y) → f(x, y), when the result has the same size. Leaves fewer operands that are
// expanded.
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {

std::optional<Patch> expand_into_binary(const Graph& g, const Node& n) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (made_by<ops::Expand>(g, n.inputs[i]) == nullptr) continue;
    std::vector<ValueId> inputs = n.inputs;
    inputs[i] = input_of(g, n.inputs[i]);
    if (auto patch = rewrite(g, n, n.op, inputs)) return patch;
  }
  return std::nullopt;
}

}  // namespace treadle::passes
