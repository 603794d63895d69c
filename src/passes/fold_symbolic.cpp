// f(…) whose integer elements are known expressions over sizes of the graph's inputs →
// SymbolicConstant. Sizes that a node brings to light stay: nothing else would keep that node.
// Leaves fewer operators that are not constants.
#include <algorithm>

#include "ops/symbolic_constant.hpp"
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

bool from_inputs(const Graph& g, const std::vector<Dim>& dims) {
  std::vector<std::string> wanted;
  for (const Dim& d : dims) d.collect_symbols(wanted);
  if (wanted.empty()) return true;
  std::vector<std::string> known;
  for (const ValueId v : g.inputs()) {
    for (const Dim& d : g.fact(v).shape) d.collect_symbols(known);
  }
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& s) {
    return std::find(known.begin(), known.end(), s) != known.end();
  });
}

}  // namespace

std::optional<Patch> fold_symbolic(const Graph& g, const Node& n) {
  if (!n.op->pure() || n.inputs.empty() || n.outputs.size() != 1) return std::nullopt;
  const Fact& fact = n.outputs[0].fact;
  if (fact.kind != Fact::Kind::Tensor || !fact.dims || fact.value) return std::nullopt;
  if (!from_inputs(g, *fact.dims)) return std::nullopt;
  return rewrite(g, n, make_op<ops::SymbolicConstant>(*fact.dims, fact.dtype, fact.shape), {});
}

}  // namespace treadle::passes
