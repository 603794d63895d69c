// Contract("ab…", Transpose(x)) → Contract("ba…", x), and Transpose(Contract(…→ab)) →
// Contract(…→ba) when it has no other use. Leaves fewer transposes.
#include "ops/contract.hpp"
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {

using ops::Contract;
using ops::Transpose;

std::optional<Patch> transpose_into_contract(const Graph& g, const Node& n) {
  auto op = std::make_shared<Contract>(*n.op->as<Contract>());
  std::vector<ValueId> inputs = n.inputs;
  bool any = false;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const auto* t = made_by<Transpose>(g, inputs[k]);
    if (t == nullptr) continue;
    const std::string letters = op->inputs[k];
    for (std::size_t i = 0; i < letters.size(); ++i) {
      op->inputs[k][static_cast<std::size_t>(t->perm[i])] = letters[i];
    }
    inputs[k] = input_of(g, inputs[k]);
    any = true;
  }
  if (!any) return std::nullopt;
  return rewrite(g, n, op, inputs);
}

std::optional<Patch> transpose_of_contract(const Graph& g, const Node& n) {
  const ValueId y = n.inputs[0];
  const auto* contract = made_by<Contract>(g, y);
  if (contract == nullptr || !used_once(g, y)) return std::nullopt;
  const Perm& perm = n.op->as<Transpose>()->perm;
  auto op = std::make_shared<Contract>(*contract);
  for (std::size_t i = 0; i < perm.size(); ++i) {
    op->output[i] = contract->output[static_cast<std::size_t>(perm[i])];
  }
  return rewrite(g, n, op, g.node(y.node).inputs);
}

}  // namespace treadle::passes
