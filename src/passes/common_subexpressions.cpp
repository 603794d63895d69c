// f(x) and f(x) → one f(x). Leaves fewer nodes.
#include <functional>
#include <unordered_map>

#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

std::size_t hash_of(const Node& n) {
  std::size_t h = n.op->hash();
  for (const ValueId v : n.inputs) h = h * 1000003 + ValueIdHash{}(v);
  return h;
}

bool same_node(const Node& a, const Node& b) {
  if (a.inputs != b.inputs || a.outputs.size() != b.outputs.size()) return false;
  for (std::size_t k = 0; k < a.outputs.size(); ++k) {
    if (!a.outputs[k].fact.same_type(b.outputs[k].fact)) return false;
  }
  return a.op->equals(*b.op);
}

}  // namespace

void common_subexpressions(Graph& g, const std::function<bool(const Node&, Patch)>& merge) {
  std::unordered_multimap<std::size_t, NodeId> seen;
  for (const NodeId id : g.order()) {
    const Node& n = g.node(id);
    if (!n.alive || !n.op->pure() || !n.op->subgraphs().empty()) continue;
    const std::size_t h = hash_of(n);
    const auto [first, last] = seen.equal_range(h);
    auto twin = first;
    while (twin != last && !same_node(g.node(twin->second), n)) ++twin;
    if (twin == last) {
      seen.emplace(h, id);
      continue;
    }
    Patch patch(g);
    for (std::uint32_t k = 0; k < n.outputs.size(); ++k) patch.replace({id, k}, {twin->second, k});
    if (!merge(n, std::move(patch))) return;
  }
}

}  // namespace treadle::passes
