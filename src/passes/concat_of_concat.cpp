// Concat(…, Concat(x, y), …) along one axis → Concat(…, x, y, …), when the inner one has no other
// use. Leaves fewer operators.
#include "ops/move.hpp"
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {

std::optional<Patch> concat_of_concat(const Graph& g, const Node& n) {
  const std::int64_t axis = n.op->as<ops::Concat>()->axis;
  std::vector<ValueId> parts;
  bool nested = false;
  for (const ValueId v : n.inputs) {
    const auto* inner = made_by<ops::Concat>(g, v);
    if (inner != nullptr && inner->axis == axis && used_once(g, v)) {
      const auto& more = g.node(v.node).inputs;
      parts.insert(parts.end(), more.begin(), more.end());
      nested = true;
    } else {
      parts.push_back(v);
    }
  }
  if (!nested) return std::nullopt;
  return rewrite(g, n, n.op, parts);
}

}  // namespace treadle::passes
