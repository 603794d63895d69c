#include "cpu/joins.hpp"

#include <algorithm>
#include <set>

#include "ops/conv.hpp"
#include "ops/move.hpp"

namespace treadle::cpu {
namespace {

// Every size follows from the symbols of the inputs.
bool sizes_known(const Graph& graph, const std::vector<NodeId>& order) {
  std::set<std::string> known;
  const auto symbols = [](const Fact& f) {
    std::vector<std::string> names;
    for (const Dim& d : f.shape) d.collect_symbols(names);
    return names;
  };
  for (const ValueId v : graph.inputs()) {
    for (const Dim& d : graph.fact(v).shape)
      if (const auto name = d.as_symbol()) known.insert(*name);
  }
  for (const NodeId id : order) {
    for (const Output& o : graph.node(id).outputs) {
      if (o.fact.kind != Fact::Kind::Tensor || o.fact.dtype == DType::String) return false;
      const auto names = symbols(o.fact);
      if (!std::all_of(names.begin(), names.end(),
                       [&](const auto& n) { return known.contains(n); }))
        return false;
    }
  }
  return true;
}

// The Conv whose kernel makes the value, or null.
const Node* producer(const Graph& graph, const Fusions& fusions, ValueId v) {
  const auto tail = fusions.tail.find(v.node);
  const NodeId id = tail == fusions.tail.end() ? v.node : tail->second;
  if (tail == fusions.tail.end() && fusions.absorbed[id]) return nullptr;
  const Node& n = graph.node(id);
  return n.op->as<ops::Conv>() && n.outputs.size() == 1 ? &n : nullptr;
}

}  // namespace

std::map<NodeId, Join> find_joins(const Graph& graph, const std::vector<NodeId>& order,
                                  const Fusions& fusions, const TakesEpilogue& takes_epilogue) {
  std::map<NodeId, Join> joins;
  bool checked = false;
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    const auto* op = n.op->as<ops::Concat>();
    if (!op) continue;
    const Fact& out = n.outputs[0].fact;
    if (op->axis != out.rank() - 1 || !out.shape.back().is_const()) continue;
    if (!checked && !sizes_known(graph, order)) return {};
    checked = true;
    std::int64_t column = 0;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const ValueId v = n.inputs[i];
      const Dim& own = graph.fact(v).shape.back();
      if (!own.is_const()) break;
      const Node* const made_by = producer(graph, fusions, v);
      if (graph.use_count(v) == 1 && made_by && takes_epilogue(graph, *made_by))
        joins.emplace(v.node, Join{id, i, column, out.shape.back().value()});
      column += own.value();
    }
  }
  return joins;
}

}  // namespace treadle::cpu
