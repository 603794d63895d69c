#include "cpu/chains.hpp"

#include <algorithm>

#include "ops/binary.hpp"
#include "ops/function_name.hpp"
#include "ops/unary.hpp"

namespace treadle::cpu {
namespace {

// Elementwise in one dtype of floats.
bool is_elementwise(const Graph& g, const Node& n) {
  if (!n.op->as<ops::Unary>() && !n.op->as<ops::Binary>()) return false;
  const DType dtype = n.outputs[0].fact.dtype;
  if (dtype != DType::F32 && dtype != DType::F16 && dtype != DType::BF16) return false;
  return std::all_of(n.inputs.begin(), n.inputs.end(),
                     [&](ValueId v) { return g.fact(v).dtype == dtype; });
}

// The number of v among the inputs, added when it is new.
int number_of(std::vector<ValueId>& inputs, ValueId v) {
  const auto at = std::ranges::find(inputs, v) - inputs.begin();
  if (static_cast<std::size_t>(at) == inputs.size()) inputs.push_back(v);
  return static_cast<int>(at);
}

class Finder {
 public:
  Finder(const Graph& graph, const Fusions& fusions, const ChainLimits& limits)
      : graph_(graph), fusions_(fusions), limits_(limits) {
    found_.members.assign(graph.node_count(), false);
  }

  void from(NodeId id) {
    const Node& head = graph_.node(id);
    if (!takes(head, 0)) return;
    Chain chain;
    chain.inputs = {head.inputs[0]};
    add(chain, head, 0);
    for (const Node* next = follower(chain); next; next = follower(chain)) {
      const ValueId through{chain.links.back().node, 0};
      chain.text += " +" + std::string(ops::function_name(*next->op));
      add(chain, *next, side_of(*next, through));
    }
    if (chain.links.size() < 2) return;
    for (const Chain::Link& link : chain.links) found_.members[link.node] = true;
    const NodeId tail = chain.links.back().node;
    found_.by_tail.emplace(tail, std::move(chain));
  }

  Chains take() { return std::move(found_); }

 private:
  // The input of `n` that is `through`.
  static std::size_t side_of(const Node& n, ValueId through) {
    return n.inputs[0] == through ? 0 : 1;
  }

  // Whether the node can be a link that works on its input `side`.
  bool takes(const Node& n, std::size_t side) const {
    return !fusions_.absorbed[n.id] && !found_.members[n.id] && is_elementwise(graph_, n) &&
           limits_.takes(*n.op, n.outputs[0].fact.dtype, side == 1);
  }

  // Adds a node that works on its input `side`.
  static void add(Chain& chain, const Node& n, std::size_t side) {
    Chain::Link link{n.id, -1, side == 1};
    if (n.op->as<ops::Binary>()) link.operand = number_of(chain.inputs, n.inputs[1 - side]);
    chain.links.push_back(link);
  }

  // The node that may go on after the last one, or null.
  const Node* follower(const Chain& chain) const {
    const ValueId through{chain.links.back().node, 0};
    if (chain.links.size() == limits_.links) return nullptr;
    const Node* const next = only_user(graph_, through);
    if (!next || !takes(*next, side_of(*next, through)) ||
        !(next->outputs[0].fact.shape == graph_.fact(through).shape))
      return nullptr;
    if (!next->op->as<ops::Binary>()) return next;
    const ValueId other = next->inputs[1 - side_of(*next, through)];
    const bool is_new = std::ranges::find(chain.inputs, other) == chain.inputs.end();
    return is_new && chain.inputs.size() == limits_.inputs ? nullptr : next;
  }

  const Graph& graph_;
  const Fusions& fusions_;
  const ChainLimits& limits_;
  Chains found_;
};

}  // namespace

Chains find_chains(const Graph& graph, const std::vector<NodeId>& order, const Fusions& fusions,
                   const ChainLimits& limits) {
  Finder finder(graph, fusions, limits);
  for (const NodeId id : order) finder.from(id);
  return finder.take();
}

}  // namespace treadle::cpu
