// Rewrites of a graph: a patch adds nodes and replaces values, and is checked when applied.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/graph.hpp"

namespace treadle {

// A rewrite's result. It refers to values of the graph, and to its own new nodes by the ids that
// add() returns (numbered after the graph's nodes).
class Patch {
 public:
  explicit Patch(const Graph& graph) : graph_(graph), base_(static_cast<NodeId>(graph.node_count())) {}

  ValueId constant(std::string name, Tensor value);
  ValueId constant(std::string name, std::shared_ptr<const Tensor> value);
  // Infers facts as Graph::add does; throws the same errors.
  std::vector<ValueId> add(std::string name, OperatorPtr op, std::vector<ValueId> inputs);
  ValueId add1(std::string name, OperatorPtr op, std::vector<ValueId> inputs);
  // Every use of `old_value` becomes a use of `new_value` (an old or a new value of the same type).
  // The new value takes the old one's name when it was made by this patch.
  void replace(ValueId old_value, ValueId new_value);

  const Fact& fact(ValueId v) const;

 private:
  friend class PatchApplier;
  struct NewNode {
    std::string name;
    OperatorPtr op;
    std::vector<ValueId> inputs;
    std::vector<Fact> facts;
  };
  const Graph& graph_;
  NodeId base_;
  std::vector<NewNode> nodes_;
  std::vector<std::pair<ValueId, ValueId>> replacements_;
};

// Applies the patch: new nodes are appended, uses redirected, what is unused then removed. Throws
// Internal error when a replacement changes kind, dtype or shape. Ids of nodes that a work list
// should look at again (new nodes, consumers of replaced values, producers of inputs of what was
// removed) are appended to `touched`.
void apply(Graph& graph, Patch patch, std::vector<NodeId>* touched = nullptr);

}  // namespace treadle
